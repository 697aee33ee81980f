/* The support matrix: for each operator the devices, dtypes and layouts that it accepts. From the coverage records;
 * what is wrong with them, from the findings. */
#include <stdlib.h>
#include <string.h>

#include "plan/variant/variant.h"
#include "reports/page/html_page.h"

typedef enum support {
  SUPPORT_NOT_TRIED = 0,
  SUPPORT_REFUSED,
  SUPPORT_ACCEPTED,
  SUPPORT_WRONG,
  SUPPORT_CRASHED, /* no input of this kind was accepted, and some crashed; or an error in a case says so */
  SUPPORT_COUNT
} support_t;

static const char *const support_words[SUPPORT_COUNT] = {"not tried", "refused", "accepted", "wrong", "crashed"};
static const char *const support_classes[SUPPORT_COUNT] = {"n", "r", "a", "w", "c"};
static const char *const device_names[] = {"cpu", "cuda", "cuda-sim"};
/* As the coverage records name them. */
static const char *const layout_names[] = {"contiguous", "strided", "expanded", "offset", "conjugate", "negative"};

enum {
  DEVICES = sizeof device_names / sizeof *device_names,
  LAYOUTS = sizeof layout_names / sizeof *layout_names,
  FIRST_DTYPE = DEVICES,
  FIRST_LAYOUT = DEVICES + OPC_DTYPE_COUNT,
  COLUMNS = FIRST_LAYOUT + LAYOUTS
};

typedef struct support_row {
  unsigned char cells[COLUMNS];
  bool doubtful[COLUMNS]; /* a warning */
  const char *leading;    /* while it is made: the first tensor argument; "" if none is known */
} support_row_t;

typedef struct support_group {
  const char *title;
  size_t first, count;
} support_group_t;

static const support_group_t groups[] = {{"device", 0, DEVICES},
                                         {"dtype of the first tensor", FIRST_DTYPE, OPC_DTYPE_COUNT},
                                         {"layout of any tensor", FIRST_LAYOUT, LAYOUTS}};

static const char *column_name(size_t column) {
  if (column < FIRST_DTYPE) return device_names[column];
  if (column < FIRST_LAYOUT) return opc_dtype_name((opc_dtype_t)(column - FIRST_DTYPE));
  return layout_names[column - FIRST_LAYOUT];
}

static size_t column_of(const support_group_t *group, const char *name) {
  for (size_t i = group->first; i < group->first + group->count; i++)
    if (strcmp(column_name(i), name) == 0) return i;
  return COLUMNS;
}

static void row_raise(support_row_t *row, size_t column, support_t support) {
  if (column < COLUMNS && row->cells[column] < support) row->cells[column] = (unsigned char)support;
}

/* {"float32": "accepted", "int8": "refused"} */
static void take_outcomes(support_row_t *row, const support_group_t *group, const json_t *outcomes) {
  const char *name;
  json_t *outcome;
  json_object_foreach(
      (json_t *)outcomes, name,
      outcome) for (size_t i = SUPPORT_REFUSED; i < SUPPORT_COUNT;
                    i++) if (json_is_string(outcome) && strcmp(json_string_value(outcome), support_words[i]) == 0)
      row_raise(row, column_of(group, name), (support_t)i);
}

static void take_coverage(support_row_t *row, const json_t *coverage) {
  const char *argument;
  json_t *properties;
  take_outcomes(row, &groups[0], json_object_get(coverage, "devices"));
  json_object_foreach(json_object_get(coverage, "arguments"), argument, properties) {
    const json_t *dtypes = json_object_get(properties, "dtypes");
    if (dtypes && !*row->leading) {
      row->leading = argument;
      take_outcomes(row, &groups[1], dtypes);
    }
    take_outcomes(row, &groups[2], json_object_get(properties, "layouts"));
  }
}

/* ---- findings ---- */

/* A tensor of evidence "input": "float32[2, 3] strides [1, 2] offset 1" (opc_value_describe). */
static size_t layout_column(const char *text) {
  const char *strides = strstr(text, " strides [");
  if (strstr(text, " conj")) return column_of(&groups[2], "conjugate");
  if (strstr(text, " neg")) return column_of(&groups[2], "negative");
  if (strides && (strstr(strides, "[0") || strstr(strides, " 0"))) return column_of(&groups[2], "expanded");
  if (strides) return column_of(&groups[2], "strided");
  return column_of(&groups[2], strstr(text, " offset ") ? "offset" : "contiguous");
}

static size_t dtype_column(const char *text) {
  char name[32];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "["), text);
  return column_of(&groups[1], name);
}

static void matrix_mark(support_row_t *row, size_t column, const opc_case_result_t *result) {
  if (column >= COLUMNS) return;
  if (result->severity == OPC_SEVERITY_WARNING) row->doubtful[column] = true;
  else row_raise(row, column, result->verdict == OPC_VERDICT_ERROR ? SUPPORT_CRASHED : SUPPORT_WRONG);
}

/* What another layout of the same values shows is marked at that layout, everything else at the plain one. */
static void mark_layouts(support_row_t *row, const opc_case_result_t *result, const json_t *input) {
  const char *argument;
  json_t *text;
  const bool layout = opc_variant_facts(result->id.variant).families & (OPC_VARIANT_LAYOUT | OPC_VARIANT_BITS);
  const size_t plain = column_of(&groups[2], "contiguous");
  bool marked = false;
  json_object_foreach((json_t *)input, argument, text) {
    const size_t column = json_is_string(text) ? layout_column(json_string_value(text)) : plain;
    if (!layout || column == plain) continue;
    matrix_mark(row, column, result);
    marked = true;
  }
  if (!marked) matrix_mark(row, plain, result);
}

static bool matrix_visit_finding(const opc_case_result_t *result, void *context) {
  support_row_t *row = context;
  const json_t *input = json_object_get(result->evidence, "input");
  if (!*result->id.device || !json_is_object(input)) return true;
  matrix_mark(row, column_of(&groups[0], result->id.device), result);
  if (*result->id.dtype) matrix_mark(row, column_of(&groups[1], result->id.dtype), result);
  else matrix_mark(row, dtype_column(opc_record_text(input, row->leading)), result);
  mark_layouts(row, result, input);
  return true;
}

static opc_status_t row_make(opc_journal_reader_t *journal, size_t index, support_row_t *row, opc_error_t *error) {
  json_auto_t *coverage = NULL;
  row->leading = "";
  OPC_RETURN_IF_ERROR(
      opc_journal_reader_coverage(journal, opc_journal_reader_operator(journal, index)->name, &coverage, error));
  take_coverage(row, coverage);
  const opc_status_t status = opc_journal_reader_findings(journal, index, matrix_visit_finding, row, error);
  row->leading = "";
  return status;
}

/* ---- the table ---- */

static size_t group_width(const support_group_t *group, const bool *shown) {
  size_t width = 0;
  for (size_t i = 0; i < group->count; i++) width += shown[group->first + i];
  return width;
}

/* The widths of the columns, of which the first of a group has a space before it. A browser needs seconds to lay out a
 * table of thousands of rows that it does not show; a row that is a grid of its own can wait. */
static void put_widths(opc_html_t *html, const bool *shown) {
  opc_html_put(html, " style=\"--columns:");
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
    const size_t width = group_width(&groups[g], shown);
    if (width) opc_html_put(html, width == 1 ? "3.6rem " : "2.25rem ");
    if (width > 1) opc_html_putf(html, "repeat(%zu,1.75rem) ", width - 1);
  }
  opc_html_put(html, "\"");
}

static void put_columns(opc_html_t *html, const bool *shown) {
  opc_html_put(html, "<thead><tr><td></td>");
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
    const size_t width = group_width(&groups[g], shown);
    if (width)
      opc_html_putf(html, "<th scope=\"colgroup\" colspan=\"%zu\" style=\"grid-column:span %zu\">%s</th>", width, width,
                    groups[g].title);
  }
  opc_html_put(html, "</tr>\n<tr><th scope=\"col\">operator</th>");
  for (size_t i = 0; i < COLUMNS; i++)
    if (shown[i]) opc_html_putf(html, "<th scope=\"col\"><span>%s</span></th>", column_name(i));
  opc_html_put(html, "</tr></thead>\n<tbody>\n");
}

static bool begins_group(size_t column, const bool *shown) {
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
    size_t first = groups[g].first;
    while (first < groups[g].first + groups[g].count && !shown[first]) first++;
    if (first == column) return true;
  }
  return false;
}

static void matrix_put_row(opc_html_t *html, const char *name, const support_row_t *row, const bool *shown) {
  opc_html_put(html, "<tr><th scope=\"row\">");
  opc_html_text(html, name, OPC_HTML_WORD);
  opc_html_put(html, "</th>");
  for (size_t i = 0; i < COLUMNS; i++) {
    const bool doubtful = row->doubtful[i] && row->cells[i] < SUPPORT_WRONG;
    if (!shown[i]) continue;
    opc_html_putf(html, "<td class=\"%s%s%s\">%s%s</td>", support_classes[row->cells[i]], doubtful ? " d" : "",
                  begins_group(i, shown) ? " g" : "", support_words[row->cells[i]], doubtful ? ", with warnings" : "");
  }
  opc_html_put(html, "</tr>\n");
}

static void matrix_put(opc_html_t *html, const support_row_t *rows, const bool *shown) {
  opc_journal_reader_t *journal = html->source->journal;
  opc_html_put(html, "<ul class=\"legend\" aria-hidden=\"true\">");
  for (size_t i = SUPPORT_COUNT; i-- > 0;)
    opc_html_putf(html, "<li><i class=\"%s\"></i>%s</li>", support_classes[i], support_words[i]);
  opc_html_put(html,
               "<li><i class=\"a d\"></i>accepted, with warnings</li></ul>\n"
               "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Support matrix\">"
               "<table class=\"matrix\"");
  put_widths(html, shown);
  opc_html_put(html, "><caption class=\"unseen\">Devices, dtypes and layouts that each operator accepts</caption>\n");
  put_columns(html, shown);
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal) && !html->status; i++)
    if (opc_operator_is_counted(opc_journal_reader_operator(journal, i)))
      matrix_put_row(html, opc_journal_reader_operator(journal, i)->name, &rows[i], shown);
  opc_html_put(html, "</tbody></table></div>\n");
}

void opc_html_matrix(opc_html_t *html) {
  opc_journal_reader_t *journal = html->source->journal;
  const size_t count = opc_journal_reader_operator_count(journal);
  OPC_SCOPED(opc_scope_free) support_row_t *rows = calloc(count + 1, sizeof *rows);
  bool shown[COLUMNS] = {false}, any = false;
  if (!rows) opc_html_keep(html, opc_out_of_memory(html->error));
  for (size_t i = 0; i < count && !html->status; i++) {
    html->status = row_make(journal, i, &rows[i], html->error);
    for (size_t k = 0; k < COLUMNS; k++) {
      shown[k] |= rows[i].cells[k] != SUPPORT_NOT_TRIED || rows[i].doubtful[k];
      any |= shown[k];
    }
  }
  opc_html_put(html,
               "<section id=\"support\" aria-labelledby=\"support-title\"><h2 id=\"support-title\">What is "
               "supported</h2>\n");
  if (any) matrix_put(html, rows, shown);
  else opc_html_put(html, "<p>No call of an operator is recorded in this run.</p>\n");
  opc_html_put(html, "</section>\n");
}
