/* Captured work, node by node: the contents of a graph. */
#include <stdlib.h>

#include "cuda/simulated/simulated.h"

static bool nodes_append(opc_nodes_t *nodes, opc_graph_node_t *node) {
  opc_graph_node_t **grown = realloc(nodes->items, (nodes->count + 1) * sizeof *grown);
  if (!grown) return false;
  nodes->items = grown;
  nodes->items[nodes->count++] = node;
  return true;
}

static bool nodes_have(const opc_nodes_t *nodes, const opc_graph_node_t *node) {
  for (size_t i = 0; i < nodes->count; i++)
    if (nodes->items[i] == node) return true;
  return false;
}

bool opc_nodes_add(opc_nodes_t *nodes, const opc_nodes_t *more) {
  for (size_t i = 0; i < more->count; i++)
    if (!nodes_have(nodes, more->items[i]) && !nodes_append(nodes, more->items[i])) return false;
  return true;
}

void opc_nodes_clear(opc_nodes_t *nodes) {
  free(nodes->items);
  *nodes = (opc_nodes_t){0};
}

/* ---- graphs ---- */

static opc_graph_t *graphs;

opc_graph_t *opc_graph_new(void) {
  opc_graph_t *graph = calloc(1, sizeof *graph);
  if (!graph) return NULL;
  graph->next = graphs;
  graphs = graph;
  return graph;
}

void opc_graph_free(opc_graph_t *graph) {
  opc_graph_t **at = &graphs;
  while (*at != graph) at = &(*at)->next;
  *at = graph->next;
  for (size_t i = 0; i < graph->nodes.count; i++) {
    opc_nodes_clear(&graph->nodes.items[i]->after);
    free(graph->nodes.items[i]);
  }
  opc_nodes_clear(&graph->nodes);
  free(graph);
}

opc_graph_node_t *opc_graph_add(opc_graph_t *graph, const opc_work_t *work, const opc_nodes_t *after) {
  opc_graph_node_t *node = calloc(1, sizeof *node);
  if (!node) return NULL;
  node->work = *work;
  if (work->keep) work->keep(&node->work);
  if (opc_nodes_add(&node->after, after) && nodes_append(&graph->nodes, node)) return node;
  opc_nodes_clear(&node->after);
  free(node);
  return NULL;
}

static void graph_nodes_reach(const opc_nodes_t *nodes) {
  for (size_t i = 0; i < nodes->count; i++) nodes->items[i]->reached = true;
}

bool opc_graph_leads_to(const opc_graph_t *graph, const opc_nodes_t *nodes) {
  bool all = true;
  for (size_t i = 0; i < graph->nodes.count; i++) graph->nodes.items[i]->reached = false;
  graph_nodes_reach(nodes);
  for (size_t i = graph->nodes.count; i-- > 0;) {
    if (graph->nodes.items[i]->reached) graph_nodes_reach(&graph->nodes.items[i]->after);
    else all = false;
  }
  return all;
}

opc_graph_t *opc_graph_find(cudaGraph_t handle) {
  for (opc_graph_t *graph = graphs; graph; graph = graph->next)
    if ((void *)graph == (void *)handle) return graph;
  return NULL;
}

const opc_graph_node_t *opc_graph_node_find(cudaGraphNode_t handle) {
  for (const opc_graph_t *graph = graphs; graph; graph = graph->next)
    if (nodes_have(&graph->nodes, (const opc_graph_node_t *)(const void *)handle))
      return (const opc_graph_node_t *)(const void *)handle;
  return NULL;
}
