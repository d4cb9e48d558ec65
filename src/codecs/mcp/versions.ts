/** Versions that begin with `initialize`, from the newest. */
export const LEGACY_VERSIONS: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26"];
/** Versions whose every request says what it needs. */
export const MODERN_VERSIONS: readonly string[] = ["2026-07-28"];
export const VERSIONS: readonly string[] = [...MODERN_VERSIONS, ...LEGACY_VERSIONS];

/** The two ways in which a version is spoken. */
export type Era = "legacy" | "modern";

/** Returns the version to speak with a client that asks for one: that one, or the newest that it may know. */
export function negotiate(asked: string): string {
  return LEGACY_VERSIONS.includes(asked) ? asked : (LEGACY_VERSIONS[0] ?? asked);
}
