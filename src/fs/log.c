#include "log.h"

#include <stdio.h>
#include <syslog.h>

static _Atomic bool to_syslog;

void log_use_syslog(void)
{
	openlog("modelfs", LOG_PID, LOG_DAEMON);
	atomic_store(&to_syslog, true);
}

void log_line(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (atomic_load(&to_syslog))
		syslog(LOG_WARNING, "%s", text);
	else
		fprintf(stderr, "modelfs: %s\n", text);
}
