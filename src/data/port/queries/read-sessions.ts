import type { ReadRequest } from "../../process/process-messages.ts";
import type { Control } from "../control.ts";
import { type Engine, EngineRefusal, type EngineSession, type SessionReceiver } from "../engine.ts";

const MAX_READS = 64;
const IDLE_MS = 10_000;
const MAX_IDLE_OF_ONE = 2;
const MAX_IDLE = 32;

/** A session of the database that one read has at a time. */
export interface ReadSession {
  readonly session: EngineSession;
  /** Who gets its messages now. */
  receive: (receiver: SessionReceiver) => void;
  /** Gives it back. @param isReady it is outside of a transaction and does nothing. */
  readonly release: (isReady: boolean) => void;
}

interface Held {
  readonly key: string;
  readonly session: EngineSession;
  receiver: SessionReceiver;
  isOver: boolean;
}

/** For whom a session is taken, and for which kind of reads. */
export type ReadOwner = Pick<ReadRequest, "principal" | "login" | "via">;

export interface ReadSessions {
  /** Rejects with an `EngineRefusal`. */
  readonly take: (owner: ReadOwner) => Promise<ReadSession>;
  readonly close: () => void;
}

const NOBODY: SessionReceiver = {
  bytes: () => true,
  began: () => undefined,
  ended: () => undefined,
};

/** Keeps a few sessions open for the next read of their principal, because a login takes longer than a short read. */
export function createReadSessions(
  { open }: Pick<Engine, "open">,
  { onEnd }: Pick<Control, "onEnd">,
): ReadSessions {
  const idle = new Map<Held, { readonly id: string; readonly timer: NodeJS.Timeout }>();
  const busy = new Map<Held, string>();
  const opening = new Set<{ readonly id: string; endedBy?: string }>();
  /** Reads by principal, those that are being opened included. */
  const reads = new Map<string, number>();
  let total = 0;

  const drop = (held: Held) => {
    clearTimeout(idle.get(held)?.timer);
    idle.delete(held);
    held.isOver = true;
    held.session.close();
  };
  const idleOf = (key: string) => [...idle.keys()].filter((held) => held.key === key);
  const keep = (held: Held, id: string) => {
    const [oldest] = idle.keys();
    if (idle.size >= MAX_IDLE && oldest !== undefined) drop(oldest);
    held.receiver = { ...NOBODY, ended: () => drop(held) };
    idle.set(held, { id, timer: setTimeout(() => drop(held), IDLE_MS).unref() });
  };
  const count = (id: string, change: 1 | -1) => {
    total += change;
    const left = (reads.get(id) ?? 0) + change;
    if (left === 0) reads.delete(id);
    else reads.set(id, left);
  };

  onEnd((principalIds, reason) => {
    const isMeant = (id: string) => principalIds === "all" || principalIds.includes(id);
    for (const [held, { id }] of idle) if (isMeant(id)) drop(held);
    for (const one of opening) if (isMeant(one.id)) one.endedBy = reason;
    for (const [held, id] of busy) {
      if (!isMeant(id)) continue;
      const { receiver } = held;
      drop(held);
      receiver.ended("57P01", reason);
    }
  });

  const openNew = async (key: string, owner: ReadOwner) => {
    const one: { readonly id: string; endedBy?: string } = { id: owner.principal.id };
    opening.add(one);
    try {
      const held = await openHeld(open, key, owner);
      if (one.endedBy === undefined) return held;
      held.session.close();
      throw new EngineRefusal("57P01", one.endedBy);
    } finally {
      opening.delete(one);
    }
  };

  return {
    async take(owner) {
      const { principal, login, via } = owner;
      const { id } = principal;
      if ((reads.get(id) ?? 0) >= principal.maxConnections) throw tooMany("This key has");
      if (total >= MAX_READS) throw tooMany("The server has");
      const key = JSON.stringify([id, via, login?.url ?? null, principal.views]);
      count(id, 1);
      try {
        const held = idleOf(key)[0] ?? (await openNew(key, owner));
        clearTimeout(idle.get(held)?.timer);
        idle.delete(held);
        busy.set(held, id);
        let isReleased = false;
        return {
          session: held.session,
          receive(receiver) {
            held.receiver = receiver;
          },
          release(isReady) {
            if (isReleased) return;
            isReleased = true;
            count(id, -1);
            busy.delete(held);
            if (isReady && !held.isOver && idleOf(key).length < MAX_IDLE_OF_ONE) keep(held, id);
            else drop(held);
          },
        };
      } catch (thrown) {
        count(id, -1);
        throw thrown;
      }
    },
    close() {
      for (const held of [...idle.keys(), ...busy.keys()]) drop(held);
    },
  };
}

async function openHeld(
  open: Engine["open"],
  key: string,
  { principal, login, via }: ReadOwner,
): Promise<Held> {
  const forward: { held?: Held; isOver: boolean } = { isOver: false };
  const receiver: SessionReceiver = {
    bytes: (bytes) => (forward.held?.receiver ?? NOBODY).bytes(bytes),
    began: () => forward.held?.receiver.began(),
    ended(code, message) {
      forward.isOver = true;
      if (forward.held === undefined) return;
      forward.held.isOver = true;
      forward.held.receiver.ended(code, message);
    },
  };
  const parameters = new Map([["application_name", principal.name]]);
  // A list comes in short goes: it does not wait behind the long statements of its own key.
  const turnKey = via === "list" ? `${principal.id} list` : principal.id;
  const session = await open({ principal, login, parameters, turnKey }, receiver);
  if (forward.isOver) throw new EngineRefusal("57P01", "The session ended as it began.");
  forward.held = { key, session, receiver: NOBODY, isOver: false };
  return forward.held;
}

function tooMany(who: string): EngineRefusal {
  return new EngineRefusal(
    "53300",
    `${who} as many reads in progress as it may have.`,
    "Wait for one of them to end.",
  );
}
