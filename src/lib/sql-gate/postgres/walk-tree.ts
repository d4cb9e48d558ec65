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
  const pending = [...nodesIn(root, 1)];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.depth > MAX_DEPTH) throw tooDeep();
    for (const below of nodesBelow(next)) pending.push(below);
    visit(next.type, next.node);
  }
}

function* nodesBelow({ type, node, depth }: Pending): Generator<Pending> {
  const fields = NODE_SHAPES.get(type);
  if (fields === undefined) throw refusedNode(type);
  for (const [name, value] of Object.entries(node)) {
    const shape = fields.get(name);
    if (shape === undefined) throw refusedField(type, name);
    if (shape === "node") yield* nodesIn(value, depth + 1);
    else if (shape !== "plain") yield { type: shape, node: value as TreeNode, depth: depth + 1 };
  }
}

/** The nodes of a field that holds one or a list of them. An absent member of a list is an empty object. */
function* nodesIn(value: unknown, depth: number): Generator<Pending> {
  for (const item of Array.isArray(value) ? value : [value]) {
    for (const [type, node] of Object.entries(item as TreeNode)) {
      yield { type, node: node as TreeNode, depth };
    }
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
