import { Refused } from "../verdict.ts";
import { NODE_SHAPES } from "./node-shapes.ts";
import { type TreeNode, tooDeep } from "./parse-postgres.ts";

/** Nodes above one another in a tree. PostgreSQL's own limit is a few thousand; people write about thirty. */
const MAX_DEPTH = 1_000;

interface Pending {
  readonly type: string;
  readonly node: TreeNode;
  readonly depth: number;
}

/**
 * Visits every node of a query, each with its type. Throws `Refused` for a node or a field that is not in
 * `NODE_SHAPES`. It does not recurse, so that no statement can exhaust the stack.
 */
export function walkTree(root: TreeNode, visit: (type: string, node: TreeNode) => void): void {
  const pending: Pending[] = [];
  addNodes(root, 1, pending);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.depth > MAX_DEPTH) throw tooDeep();
    addBelow(next, pending);
    visit(next.type, next.node);
  }
}

function addBelow({ type, node, depth }: Pending, pending: Pending[]): void {
  const fields = NODE_SHAPES.get(type);
  if (fields === undefined) throw refusedNode(type);
  for (const name of Object.keys(node)) {
    const shape = fields.get(name);
    if (shape === undefined) throw refusedField(type, name);
    if (shape === "plain") continue;
    const value = node[name];
    if (shape === "node") addNodes(value, depth + 1, pending);
    else pending.push({ type: shape, node: value as TreeNode, depth: depth + 1 });
  }
}

/** The nodes of a field that holds one or a list of them. An absent member of a list is an empty object. */
function addNodes(value: unknown, depth: number, pending: Pending[]): void {
  if (Array.isArray(value)) {
    for (const item of value) addNode(item as TreeNode, depth, pending);
  } else addNode(value as TreeNode, depth, pending);
}

function addNode(item: TreeNode, depth: number, pending: Pending[]): void {
  for (const type of Object.keys(item)) {
    pending.push({ type, node: item[type] as TreeNode, depth });
  }
}

const ONLY_READS = "Only reading is allowed: write a SELECT.";

function refusedNode(type: string): Refused {
  const name = type.replace(/Stmt$/, "").toUpperCase();
  if (type.endsWith("Stmt"))
    return new Refused(`${name} inside a statement is refused.`, ONLY_READS);
  return new Refused(
    `The statement uses ${type}, which is not among the things that a query may have.`,
    ONLY_READS,
  );
}

function refusedField(type: string, field: string): Refused {
  if (field === "intoClause") return new Refused("SELECT INTO is refused.", ONLY_READS);
  if (field === "lockingClause") {
    return new Refused(
      "Locking rows (FOR UPDATE, FOR SHARE) is refused.",
      "Leave the locking clause out.",
    );
  }
  return new Refused(`The ${field} of ${type} is refused.`, ONLY_READS);
}
