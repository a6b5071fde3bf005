#!/bin/sh
# From a fresh Debian 12 to models in a folder: installs what modelfs needs, builds it, writes the demo archive, mounts
# it, shows what is in it, changes a value, takes that back, and unmounts. Nothing outside build/ is changed, apart from
# the packages. Run it from anywhere, as root or as a user with sudo, as often as you like.
set -eu

cd "$(dirname "$0")/.."
top=$PWD
work=$(mktemp -d)

say() {
	printf '\n== %s\n' "$*"
}

show() {
	printf '$ %s\n' "$*"
	"$@"
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

clean_up() {
	cd /
	if mountpoint -q "$work/models"; then
		modelfs umount "$work/models" || fusermount3 -uz "$work/models"
	fi
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

packages="meson ninja-build pkg-config gcc libfuse3-dev fuse3 libspng-dev libyaml-dev libcjson-dev zlib1g-dev"
packages="$packages libzopfli-dev liblz4-dev libdeflate-dev libcmocka-dev python3 file"
missing=
for package in $packages; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
	say "Installing$missing"
	as_root apt-get update -q
	# shellcheck disable=SC2086 # a list of names
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
fi

say "Building"
[ -f build/build.ninja ] || meson setup build
meson compile -C build
PATH=$top/build/src/fs:$PATH
cd "$work"

say "An archive to look at"
show modelfs demo DATA.BIN
show modelfs info DATA.BIN

say "Mounting it"
[ -e /dev/fuse ] || as_root modprobe fuse
show mkdir models
show modelfs mount DATA.BIN models
show ls models

say "One model: a crate with a texture"
crate=models/00005.pac/00.pmo
show find $crate -not -path '*/raw/*'
show cat $crate/materials.yaml
show head -n 12 $crate/meshes/0.obj
show file $crate/textures/0.png

say "Every program can use it"
show cp $crate/meshes/0.obj crate.obj
show ls -l crate.obj

say "And save: what changes is that value's bytes in the archive, here one"
show cp DATA.BIN before.bin
echo "$ sed -i 's/127, 127, 127/255, 127, 127/' $crate/materials.yaml"
sed -i 's/127, 127, 127/255, 127, 127/' $crate/materials.yaml
show cat $crate/materials.yaml
echo "$ cmp -l before.bin DATA.BIN"
cmp -l before.bin DATA.BIN && exit 1

say "A text that cannot be stored is refused, and changes nothing"
echo "$ sed -i 's/texture: 0/texture: 300/' $crate/materials.yaml"
sed -i 's/texture: 0/texture: 300/' $crate/materials.yaml && exit 1
show ls $crate
show cat $crate/errors.txt

say "Unmounting, and taking the change back"
show modelfs umount models
show modelfs log DATA.BIN
show modelfs undo DATA.BIN
show cmp before.bin DATA.BIN
echo "the same again"

say "Now with an archive of your own"
echo "mkdir mh && $top/build/src/fs/modelfs mount DATA.BIN mh"
