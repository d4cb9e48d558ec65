import {
  type Alternation,
  inSmallLetters,
  type PatternNode,
  parsePattern,
} from "./parse-pattern.ts";

/** Steps of one test, at most: characters times states. */
const STEPS_MAX = 100_000_000;
const STATES_MAX = 5_000;

type Test = (code: number) => boolean;

/** `test` moves on by a character, `assert` by none. */
type State =
  | { readonly kind: "test"; readonly test: Test; next: number }
  | {
      readonly kind: "assert";
      readonly holds: (before: number, after: number) => boolean;
      next: number;
    }
  | { readonly kind: "split"; readonly next: number[] }
  | { readonly kind: "end" };

/** A pattern that takes time in proportion to the text, whatever the pattern is. */
export interface LinearPattern {
  /** Whether the pattern occurs in the text. Throws a RangeError when pattern and text are too large together. */
  readonly test: (text: string) => boolean;
}

/**
 * Compiles the common form of regular expressions: classes, groups, alternatives, counts, `^`, `$`, `\b`. Throws a
 * SyntaxError for anything else, such as references and looking ahead, which cannot be tested in linear time.
 */
export function linearPattern(source: string, flags = ""): LinearPattern {
  const { tree, ignoresCase } = parsePattern(source, flags);
  const states: State[] = [];
  const add = (state: State): number => {
    if (states.length >= STATES_MAX) throw new SyntaxError("The pattern is too large.");
    return states.push(state) - 1;
  };
  const end = add({ kind: "end" });
  const start = compile(tree, end, add);
  return {
    test(text) {
      if (text.length * states.length > STEPS_MAX)
        throw new RangeError("The text is too long for this pattern.");
      return run(states, start, ignoresCase ? inSmallLetters(text) : text);
    },
  };
}

/** Returns the state that `node` begins with and that leads to `next`. */
function compile(node: PatternNode, next: number, add: (state: State) => number): number {
  switch (node.kind) {
    case "test":
      return add({ kind: "test", test: node.test, next });
    case "assert":
      return add({ kind: "assert", holds: node.holds, next });
    case "alternation":
      return compileAlternation(node, next, add);
    case "repeat": {
      let after = next;
      if (node.max === Number.POSITIVE_INFINITY) {
        const loop: State = { kind: "split", next: [next] };
        after = add(loop);
        (loop.next as number[]).push(compile(node.inner, after, add));
      } else {
        for (let count = node.max; count > node.min; count -= 1)
          after = add({ kind: "split", next: [next, compile(node.inner, after, add)] });
      }
      for (let count = 0; count < node.min; count += 1) after = compile(node.inner, after, add);
      return after;
    }
  }
}

function compileAlternation(
  { branches }: Alternation,
  next: number,
  add: (state: State) => number,
): number {
  const starts = branches.map((branch) =>
    branch.reduceRight((after, node) => compile(node, after, add), next),
  );
  return starts.length === 1 ? (starts[0] ?? next) : add({ kind: "split", next: starts });
}

/** The characters on both sides of a place; -1 outside the text. */
interface Sides {
  readonly before: number;
  readonly after: number;
}

/** Follows all states at once, so that no character is looked at twice. */
function run(states: readonly State[], start: number, text: string): boolean {
  const places = new Places(states);
  let current: number[] = [];
  let following: number[] = [];
  let at = 0;
  let code = text.codePointAt(0) ?? -1;
  places.enter(start, at, { before: -1, after: code }, current);
  while (!places.isFound && code >= 0) {
    at += code > 0xffff ? 2 : 1;
    const sides = { before: code, after: text.codePointAt(at) ?? -1 };
    following.length = 0;
    for (const index of current) {
      const state = states[index];
      if (state?.kind === "test" && state.test(code))
        places.enter(state.next, at, sides, following);
    }
    // The pattern may begin at every place.
    places.enter(start, at, sides, following);
    [current, following] = [following, current];
    code = sides.after;
  }
  return places.isFound;
}

/** Remembers which states each place of the text was entered with. */
class Places {
  isFound = false;
  readonly #states: readonly State[];
  readonly #seenAt: Int32Array;
  readonly #stack: number[] = [];

  constructor(states: readonly State[]) {
    this.#states = states;
    this.#seenAt = new Int32Array(states.length).fill(-1);
  }

  /** Adds a state and all that it leads to without a character. */
  enter(first: number, at: number, { before, after }: Sides, into: number[]): void {
    const stack = this.#stack;
    stack.push(first);
    for (let index = stack.pop(); index !== undefined; index = stack.pop()) {
      const state = this.#states[index];
      if (state === undefined || this.#seenAt[index] === at) continue;
      this.#seenAt[index] = at;
      if (state.kind === "end") this.isFound = true;
      else if (state.kind === "test") into.push(index);
      else if (state.kind === "split") stack.push(...state.next);
      else if (state.holds(before, after)) stack.push(state.next);
    }
  }
}
