export interface BuiltFile {
  /** Its path below `/console/`. */
  readonly name: string;
  /** The encodings that it is also kept in, as `<name>.br` and `<name>.gz`. */
  readonly encodings: readonly ("br" | "gz")[];
}

export interface Manifest {
  /** The name of its folder, made from its content. */
  readonly id: string;
  /** The hash of what it was made from. */
  readonly stamp: string;
  /** True when another build follows each change. */
  readonly watched: boolean;
  readonly files: readonly BuiltFile[];
}

export const SOURCES: string;
export const BUILDS: string;
export const API_TYPES: string;
export function stampOfSources(): string;
export function readManifest(): Manifest | undefined;
export function writeManifest(manifest: Manifest): void;
