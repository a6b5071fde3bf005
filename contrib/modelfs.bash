# bash completion for modelfs(1)

# Words of the tree inside the archive $1 that begin with $2.
_modelfs_tree() {
	local source=${1/#\~\//$HOME/} word=${2//\\/} parent="" name

	source=${source//\\/}
	[[ $word == */* ]] && parent=${word%/*}/
	while IFS= read -r name; do
		[[ $parent$name == "$word"* ]] && COMPREPLY+=("$parent$name")
	done < <(modelfs ls "$source" "$parent" 2>/dev/null)
	compopt -o filenames -o nospace
	# One file is left: the word is done.
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} != */ ]] && compopt +o nospace
}

_modelfs_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_modelfs_files() {
	mapfile -t COMPREPLY < <(compgen "-${2:-f}" -- "$1")
	compopt -o filenames
}

# Mount points; /proc/self/mounts writes spaces as \040.
_modelfs_mounts() {
	local mounts

	mounts=$(awk '$3 == "fuse.modelfs" { print $2 }' /proc/self/mounts)
	mapfile -t COMPREPLY < <(IFS=$'\n' compgen -W "${mounts//\\040/ }" -- "$1")
	compopt -o filenames
}

_modelfs() {
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i
	local arguments=()

	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_modelfs_words "mount umount info ls cat extract put log undo verify describe demo thumbnail --version --help" "$word"
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-o | =) ((i++)) ;;     # what an option has behind = is a word of its own
		-*) ;;
		*) arguments+=("${COMP_WORDS[i]}") ;;
		esac
	done
	if [[ $word == -* ]]; then
		case $command in
		mount) _modelfs_words "-f -o --help" "$word" ;;
		ls) _modelfs_words "-l -R -lR -c -o --help" "$word" ;;
		put) _modelfs_words "-g -n -gn -c -o --help" "$word" ;;
		cat | extract) _modelfs_words "-c -o --help" "$word" ;;
		info) _modelfs_words "-c -v --help" "$word" ;;
		verify) _modelfs_words "-c --help" "$word" ;;
		*) _modelfs_words "--help" "$word" ;;
		esac
	elif [[ $command == mount && $previous == -o ]]; then
		_modelfs_words "ro grow noundo carve names= cache= fps= tolerance= baked stats allow_other" "$word"
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
	elif [[ $previous == -o ]]; then
		_modelfs_words "fps= tolerance= baked" "$word"
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
	elif [[ $word == "=" || $previous == "=" ]]; then
		[[ $command == mount ]] && _modelfs_files "${word#=}"
	else
		case $command:${#arguments[@]} in
		umount:0) _modelfs_mounts "$word" ;;
		describe:0) _modelfs_words "$(modelfs describe 2>/dev/null | cut -d ' ' -f 1)" "$word" ;;
		mount:0 | info:0 | ls:0 | cat:0 | extract:0 | put:0 | put:2 | log:0 | undo:0 | verify:0 | demo:0 | thumbnail:[01])
			_modelfs_files "$word"
			;;
		mount:1 | extract:2) _modelfs_files "$word" d ;;
		ls:1 | cat:1 | put:1) _modelfs_tree "${arguments[0]}" "$word" ;;
		extract:1)
			_modelfs_tree "${arguments[0]}" "$word"
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$word")
			;;
		esac
	fi
}

complete -F _modelfs modelfs
