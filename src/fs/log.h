/* Messages to whoever runs modelfs: standard error, or the system log once the mount is a daemon. */
#ifndef MODELFS_LOG_H
#define MODELFS_LOG_H

#include "base.h"

void log_use_syslog(void);
void log_line(const char *fmt, ...) PRINTF(1, 2);      /* "modelfs: TEXT" */

#endif
