#pragma once

#include <jansson.h>

#include "reports/screen.h"

/* library: as made by opc_inspection_make. */
void opc_inspect_show(const opc_screen_t *screen, const json_t *library);
