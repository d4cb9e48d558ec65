import { INT, MATCHES, TIME } from "./cel-environment.ts";

/** A node of the library's tree, as far as it is changed. */
interface TreeNode {
  readonly op: string;
  args: unknown;
  readonly meta: Record<string, unknown>;
  /** Reads a field or an item. */
  handle?: (left: unknown, right: unknown) => unknown;
}

/** `has(a.b)`, which the library evaluates by itself. */
interface HasMacro {
  readonly macroHasProps: unknown;
  evaluate: (...all: unknown[]) => unknown;
}

/**
 * Lets `text.matches(pattern)` call the function that does not backtrack, `timestamp(x)` the one that also reads dates,
 * and `int(x)` the one to which an empty text is no number. Before the tree is checked.
 */
export function renameFunctions(tree: unknown): void {
  visit(tree, ({ op, args }) => {
    if (!Array.isArray(args)) return;
    if (op === "rcall" && args[0] === "matches") args[0] = MATCHES;
    if (op === "call" && args[0] === "timestamp") args[0] = TIME;
    if (op === "call" && args[0] === "int") args[0] = INT;
  });
}

/**
 * Makes what is absent null, as far down as the path goes: a field of an object, an item of a list, and anything of
 * null, of a text, a number, or what else has no fields. After the tree was checked, which chooses how its fields are
 * read.
 */
export function changeAccess(tree: unknown): void {
  const hasMacros: HasMacro[] = [];
  visit(
    tree,
    (node) => {
      if ((node.op === "." || node.op === "[]") && node.handle !== undefined) node.handle = fieldOf;
    },
    hasMacros,
  );
  for (const macro of hasMacros) macro.evaluate = orFalse(macro.evaluate);
}

function fieldOf(left: unknown, right: unknown): unknown {
  if (left instanceof Map) return left.get(right) ?? null;
  if (Array.isArray(left)) return itemOf(left, right) ?? null;
  if (typeof left !== "object" || left === null) return null;
  if (Object.getPrototypeOf(left) !== Object.prototype) return null;
  const name = String(right);
  return Object.hasOwn(left, name) ? (left as Record<string, unknown>)[name] : null;
}

function itemOf(list: readonly unknown[], index: unknown): unknown {
  return typeof index === "number" || typeof index === "bigint" ? list[Number(index)] : undefined;
}

function orFalse(evaluate: HasMacro["evaluate"]): HasMacro["evaluate"] {
  return (...all) => {
    try {
      return evaluate(...all);
    } catch (thrown) {
      const isMissing =
        thrown instanceof Error && "code" in thrown && thrown.code === "no_such_key";
      if (isMissing) return false;
      throw thrown;
    }
  };
}

/** Calls `change` for every node of a tree, those that macros were replaced by included. */
function visit(tree: unknown, change: (node: TreeNode) => void, hasMacros: HasMacro[] = []): void {
  const Node = (tree as object).constructor;
  const seen = new Set<unknown>();
  const open: unknown[] = [tree];
  for (let value = open.pop(); open.length > 0 || value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    const isNode = value.constructor === Node;
    if (!isNode && !Array.isArray(value) && value.constructor !== Object) continue;
    if (isNode) {
      const node = value as TreeNode;
      change(node);
      open.push(...Object.values(node.meta));
    } else if ("macroHasProps" in value) hasMacros.push(value as HasMacro);
    open.push(...Object.values(value));
  }
}
