/**
 * What a browser may do in the console: nothing inline, nothing from elsewhere, nothing sent elsewhere, no string that
 * becomes a script.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The headers of every file below `/console`. */
export const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "permissions-policy": "microphone=(self)",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};
