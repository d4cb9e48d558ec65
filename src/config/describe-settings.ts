import { IpRanges } from "../lib/egress/ip-ranges.ts";
import { type Settings, settingsSchema } from "./settings.ts";

/**
 * Settings that are secrets or may hold one: an address with a password in it, or one that alone allows a call. Their
 * values are never shown.
 */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set<keyof Settings>([
  "APP_SECRET",
  "ADMIN_PASSWORD",
  "OIDC_CLIENT_SECRET",
  "BOOTSTRAP_API_KEY",
  "DATABASE_URL",
  "BIKEY_DATABASE_URL",
  "REDIS_URL",
  "LLM_API_KEY",
  "OPENAI_API_KEY",
  "ANTHROPIC_API_KEY",
  "GEMINI_API_KEY",
  "COMPATIBLE_API_KEY",
  "EMBEDDING_API_KEY",
  "SPEECH_API_KEY",
  "ALERT_WEBHOOK_URL",
  "ALERT_WEBHOOK_SECRET",
  "METRICS_TOKEN",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "DEV_API_KEY",
]);

/** A setting as this process has it. */
export interface DescribedSetting {
  readonly name: string;
  /** Its line of documentation. */
  readonly text: string;
  readonly isSecret: boolean;
  readonly isSet: boolean;
  /** Its value is that of a server where it is not set. */
  readonly isDefault: boolean;
  /** Null for a secret, and where it is not set and has no default. */
  readonly value: string | number | boolean | readonly string[] | null;
}

/** Describes all settings, in the order of their documentation. */
export function describeSettings(settings: Settings): readonly DescribedSetting[] {
  const given = new Map<string, unknown>(Object.entries(settings));
  return Object.entries(settingsSchema.shape).map(([name, schema]) => {
    const value = given.get(name);
    const isSecret = SECRET_SETTINGS.has(name);
    const usual = schema.safeParse(undefined).data;
    return {
      name,
      text: schema.description ?? "",
      isSecret,
      isSet: value !== undefined,
      isDefault: JSON.stringify(shown(value)) === JSON.stringify(shown(usual)),
      value: isSecret ? null : shown(value),
    };
  });
}

function shown(value: unknown): DescribedSetting["value"] {
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value === "string") return withoutCredentials(value);
  if (value instanceof IpRanges) return value.texts;
  if (Array.isArray(value)) return value.map((entry) => withoutCredentials(String(entry)));
  return null;
}

/** Takes from an address what may be a secret: the user, the password, the query and the fragment. */
function withoutCredentials(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username + url.password + url.search + url.hash === "") return text;
  return `${url.protocol}//${url.host}${url.pathname}`;
}
