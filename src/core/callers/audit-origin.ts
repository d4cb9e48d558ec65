/** How an actor was authenticated. */
export const AUDIT_ORIGINS = [
  "session",
  "key",
  "service_token",
  "command_line",
  "service",
] as const;
