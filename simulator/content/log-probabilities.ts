import { tokenId } from "./tokenizer.ts";

const LIMIT = 20;

export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
  readonly top_logprobs?: readonly TokenLogprob[];
}

/** Returns invented but stable log probabilities of a token and its alternatives. */
export function logProbability(token: string, alternatives: number): TokenLogprob {
  const others = ["the", " a", ".", " it", " is"].filter((other) => other !== token);
  const top = [token, ...others].slice(0, Math.min(alternatives, LIMIT));
  return { ...one(token, 0), top_logprobs: top.map((other, rank) => one(other, rank)) };
}

function one(token: string, rank: number): TokenLogprob {
  const logprob = -(0.01 + (tokenId(token) % 90) / 1000 + rank * 1.5);
  return { token, logprob, bytes: [...Buffer.from(token)] };
}
