import { relative, resolve, sep } from "node:path";
import type { z } from "zod";
import { StartRefusal } from "../lib/start-refusal.ts";
import { databaseFolder, journalsFolder } from "./folders.ts";
import { type Settings, settingsSchema } from "./settings.ts";
import {
  findUnknownSettings,
  namesInEnvironmentFile,
  type UnknownSetting,
} from "./unknown-settings.ts";

/** Names of earlier releases. They are ignored; the start says so once. */
const RETIRED_SETTINGS: readonly RegExp[] = [
  /^MAX_PDF_PAGES$/,
  /^CLOUD_DEFAULT_MAX_TOKENS$/,
  /^SESSION_RAG_/,
  /^RAG_DEFAULT_/,
  /^BOT_RAG_TOP_K$/,
  /^RAG_GROUNDING_INSTRUCTION$/,
];

export interface Config {
  readonly settings: Settings;
  /** Retired names that are set, to be warned of. */
  readonly retired: readonly string[];
  /** Names that may be misspelt settings, to be warned of. */
  readonly unknown: readonly UnknownSetting[];
}

/** Thrown with every wrong setting at once, ready to print. Values are never in the text: they may be secrets. */
export class SettingsError extends StartRefusal {
  override readonly name = "SettingsError";
}

/**
 * Reads the settings; the only reader of the environment.
 * An empty value counts as unset, so that `NAME=` in an .env file takes the default. So does one of blanks alone, which
 * would be read as the number 0.
 */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => (value ?? "").trim() !== ""),
  );
  const parsed = settingsSchema.safeParse(given, { reportInput: false, error: inOwnWords });
  if (!parsed.success) throw new SettingsError(describe(parsed.error.issues));
  const loops = watchedLoops(parsed.data);
  if (loops.length > 0) throw new SettingsError(describe(loops));
  const retired = Object.keys(given).filter((name) =>
    RETIRED_SETTINGS.some((pattern) => pattern.test(name)),
  );
  const others = Object.keys(given).filter((name) => !retired.includes(name));
  const known = Object.keys(settingsSchema.shape);
  const unknown = findUnknownSettings(others, known, namesInEnvironmentFile());
  return { settings: parsed.data, retired, unknown };
}

/** What is wrong with a setting whose schema does not say so itself. */
function inOwnWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "too_big") return `must be at most ${issue.maximum}`;
  if (issue.code === "too_small") {
    return `must be ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`;
  }
  if (issue.code === "invalid_value") return `must be ${issue.values.map(String).join(" or ")}`;
  return undefined;
}

type Issue = Pick<z.core.$ZodIssue, "path" | "message">;

/** Folders in which the service writes itself: each event from there would make the next one. */
function watchedLoops(settings: Settings): Issue[] {
  const { WATCH_DIRS, DATA_DIR } = settings;
  const message = "must not hold what the service writes itself, in DATA_DIR and JOURNAL_DIR";
  // Other folders in DATA_DIR are nobody's but the operator's.
  const written = [DATA_DIR, journalsFolder(settings), databaseFolder(DATA_DIR)];
  return WATCH_DIRS.flatMap((folder, index) =>
    written.some((own) => isWithin(own, folder)) ? [{ path: ["WATCH_DIRS", index], message }] : [],
  );
}

function isWithin(path: string, folder: string): boolean {
  return relative(resolve(folder), resolve(path)).split(sep)[0] !== "..";
}

function describe(issues: readonly Issue[]): string {
  const lines = issues.map(({ path: [name, index], message }) => {
    const entry = typeof index === "number" ? ` (entry ${index + 1} of the list)` : "";
    return `  ${String(name)}: ${message}${entry}`;
  });
  return `Wrong settings, nothing was started:\n${lines.join("\n")}\nEach setting is explained in .env.example.`;
}
