import { useState } from "react";

/** Which chat the page shows. */
export interface ChatPlace {
  /** Counts the chats that were shown: each is drawn anew. */
  readonly number: number;
  /** The chat in the address, as it was seen last. */
  readonly address: string | undefined;
  /** The chat that is read from the server; undefined for one that was begun here. */
  readonly opened: string | undefined;
  /** The id that the chat has by now: one that is kept for the first time gets it while it is in use. */
  readonly id: string | undefined;
}

export function placeOf(number: number, address: string | undefined): ChatPlace {
  return { number, address, opened: address, id: address };
}

/** Returns what is shown at an address: the chat in use where it is its own, else another one. */
export function placeAt(place: ChatPlace, address: string | undefined): ChatPlace {
  // A chat that is kept has its id before the address has it.
  if (address === place.address) return place;
  if (address !== undefined && address === place.id) return { ...place, address };
  return placeOf(place.number + 1, address);
}

/** Keeps a chat in use while its address follows it, and forgets it once the address leads elsewhere. */
export function useChatPlace(address: string | undefined) {
  const [seen, setPlace] = useState(() => placeOf(0, address));
  const place = placeAt(seen, address);
  if (place !== seen) setPlace(place);
  return {
    place,
    /** Begins a new chat where the address names none. */
    begin: () => setPlace(({ number }) => placeOf(number + 1, undefined)),
    /** Gives the chat in use the id under which it is kept. */
    nameIt: (id: string) => setPlace((now) => ({ ...now, id })),
  };
}
