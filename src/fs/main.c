#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "version.h"

static const struct command *const commands[] = {
	&cmd_mount, &cmd_umount, &cmd_info, &cmd_ls, &cmd_cat, &cmd_extract, &cmd_verify, &cmd_describe, &cmd_demo,
	&cmd_put, &cmd_log, &cmd_undo, &cmd_thumbnail,
};

static void usage(FILE *f)
{
	fprintf(f, "usage: modelfs COMMAND ...\n");
	for (unsigned i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(f, "  modelfs %s %s\n", commands[i]->name, commands[i]->synopsis);
	fprintf(f, "  modelfs --version | --help | COMMAND --help\n");
}

static int run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(name, "--version")) {
		printf("modelfs %s\n", MODELFS_VERSION);
		return 0;
	}
	for (unsigned i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i]->run(commands[i], argc - 1, argv + 1);
	if (*name)
		fprintf(stderr, "modelfs: no command \"%s\"\n", name);
	usage(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	int rc = run(argc, argv);

	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "modelfs: standard output: %s\n", strerror(errno));
		return rc ? rc : 1;
	}
	return rc;
}
