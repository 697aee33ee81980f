/* What the pages share: head and end, bars, and how a library is called. */
#include <inttypes.h>

#include "base/owned.h"
#include "reports/page/html_page.h"

const char *opc_html_library_name(const char *path) {
  const char *name = opc_base_name(path);
  if (*name != '_' || name - path < 2) return name;
  const char *folder = name - 1;
  while (folder > path && folder[-1] != '/') folder--;
  return folder;
}

void opc_html_begin(opc_html_t *html, const char *word, const char *subject, const char *parts) {
  opc_html_put(html,
               "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
               "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
               "dark\">\n<meta name=\"generator\" content=\"opcheck-c\">\n<link rel=\"icon\" "
               "href=\"data:,\">\n<title>");
  opc_html_escaped(html, word);
  opc_html_put(html, ": ");
  opc_html_escaped(html, subject);
  opc_html_put(html, "</title>\n<style>\n");
  opc_html_put(html, (const char *)opc_html_style);
  opc_html_put(html,
               "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#problems\">Skip to the problems</a>\n<nav "
               "aria-label=\"Parts of the report\"><a href=\"#summary\">Summary</a><a href=\"#problems\">Problems</a>");
  opc_html_put(html, parts);
  opc_html_put(html, "</nav>\n<main>\n");
}

void opc_html_end(opc_html_t *html) {
  opc_html_put(html, "</main>\n<script>\n");
  opc_html_put(html, (const char *)opc_html_script);
  opc_html_put(html, "</script>\n</body>\n</html>\n");
}

void opc_html_bar(opc_html_t *html, const char *title, const opc_html_part_t *parts, size_t count) {
  uint64_t total = 0;
  for (size_t i = 0; i < count; i++) total += parts[i].count;
  opc_html_putf(html, "<div class=\"bar\"><h2>%s</h2><div class=\"parts\" aria-hidden=\"true\">", title);
  for (size_t i = 0; i < count; i++)
    if (parts[i].count)
      opc_html_putf(html, "<i class=\"%s\" style=\"flex-grow:%" PRIu64 "\"></i>", parts[i].kind, parts[i].count);
  if (!total) opc_html_put(html, "<i class=\"n\" style=\"flex-grow:1\"></i>");
  opc_html_put(html, "</div><ul>");
  for (size_t i = 0; i < count; i++)
    if (parts[i].count)
      opc_html_putf(html, "<li><i class=\"%s\"></i><b>%" PRIu64 "</b> %s</li>", parts[i].kind, parts[i].count,
                    parts[i].text);
  opc_html_put(html, total ? "</ul></div>\n" : "<li>none</li></ul></div>\n");
}
