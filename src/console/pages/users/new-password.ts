const LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH = 20;

/** Returns a random password of letters and digits that are not mistaken for each other; more than 115 bits. */
export function newPassword(): string {
  let password = "";
  // Bytes beyond the last whole multiple would favour the first letters.
  const end = 256 - (256 % LETTERS.length);
  while (password.length < LENGTH) {
    const [byte = end] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < end) password += LETTERS[byte % LETTERS.length];
  }
  return password;
}
