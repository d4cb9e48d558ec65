import { isIPv6 } from "node:net";

const URLS = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi;
const HOSTS_WITH_PORT =
  /\[[0-9a-f]*:[0-9a-f:.]+\](?::\d+)?|\b(?:localhost|\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}\b|\b[a-z0-9-]+(?:\.[a-z0-9-]+)+:\d{2,5}\b/gi;
const BARE_ADDRESSES = /\b\d{1,3}(?:\.\d{1,3}){3}\b/g;
/** What may be an IPv6 address; times of the day and hashes are none. */
const MAYBE_IPV6 = /(?<![\w:.-])[0-9a-f:]{2,45}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:-]|\.\d)/gi;
const KEYS = /\b(?:sk|gsk|xai)-[\w*.-]{8,}|\bBearer\s+\S+/gi;

/** Redacts another server's text for clients: removes addresses and keys, and keeps at most `maxLength` characters. */
export function hideAddresses(text: string, maxLength: number): string {
  return text
    .slice(0, maxLength)
    .replace(URLS, "[address]")
    .replace(HOSTS_WITH_PORT, "[address]")
    .replace(MAYBE_IPV6, hideIpv6)
    .replace(BARE_ADDRESSES, "[address]")
    .replace(KEYS, "[key]");
}

/** A colon behind an address ends it in a sentence. */
function hideIpv6(text: string): string {
  if (isIPv6(text)) return "[address]";
  return text.endsWith(":") && isIPv6(text.slice(0, -1)) ? "[address]:" : text;
}
