/** The longest name that every vendor takes. */
const MAX_NAME_LENGTH = 64;
/** Of a name, what stays of it before any number. */
const STEM_LENGTH = 56;

/** A tool as the client knows it. */
export interface ClientTool {
  readonly name: string;
  readonly namespace?: string | undefined;
  /** It takes free text, where a function takes JSON. */
  readonly isCustom: boolean;
}

/**
 * Models know functions of one flat list, clients of this format also tools in namespaces and tools of free text. This
 * remembers which is which, so that a call can be given back in the client's own words.
 */
export class ToolNames {
  readonly #taken: Set<string>;
  readonly #clientTools = new Map<string, ClientTool>();
  readonly #offered = new Map<string, string>();
  /** By stem, the number that a further tool tries first: long names that begin alike become the same when cut. */
  readonly #nextNumber = new Map<string, number>();

  /** @param functions names of the plain functions, which keep them. */
  constructor(functions: Iterable<string>) {
    this.#taken = new Set(functions);
  }

  /** Finds a free name for a tool that is custom or in a namespace. Returns the name that the model is told. */
  offer(tool: ClientTool): string {
    const offered = this.#freeName(wantedName(tool));
    this.#taken.add(offered);
    this.#clientTools.set(offered, tool);
    this.#offered.set(keyOf(tool), offered);
    return offered;
  }

  /** The name under which the model knows a tool, also one that is no longer among the tools. */
  nameFor(tool: ClientTool): string {
    return this.#offered.get(keyOf(tool)) ?? wantedName(tool);
  }

  /** What the client calls the tool that the model named; undefined for a plain function. */
  find(offered: string): ClientTool | undefined {
    return this.#clientTools.get(offered);
  }

  #freeName(wanted: string): string {
    if (!this.#taken.has(wanted)) return wanted;
    const stem = wanted.slice(0, STEM_LENGTH);
    let number = this.#nextNumber.get(stem) ?? 2;
    while (this.#taken.has(numbered(wanted, number))) number++;
    this.#nextNumber.set(stem, number + 1);
    return numbered(wanted, number);
  }
}

function numbered(name: string, number: number): string {
  const suffix = `_${number}`;
  return name.slice(0, MAX_NAME_LENGTH - suffix.length) + suffix;
}

/** Of a long name the end is kept: it tells more than the namespace. */
function wantedName({ name, namespace }: ClientTool): string {
  if (namespace === undefined) return name;
  const joint = namespace.endsWith("_") ? "" : "__";
  return `${namespace}${joint}${name}`.replaceAll(/[^\w-]/g, "_").slice(-MAX_NAME_LENGTH);
}

function keyOf({ name, namespace, isCustom }: ClientTool): string {
  return JSON.stringify([namespace ?? null, name, isCustom]);
}
