/** Encodes the text's UTF-8 bytes as base64url. */
export function encodeBase64Text(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Decodes base64 or base64url into UTF-8 text. Returns undefined for any other input. */
export function decodeBase64Text(encoded: string): string | undefined {
  try {
    const binary = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Buffer.from(binary, "latin1");
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
