import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnProgram } from "../processes/spawn-program.ts";

/** Runtimes ask the kernel for a queue of their own length, at most of this. */
const QUEUE_MAX = 5_000;
const FILLING_STEP = 64;

const SYN_SENT = "02";

/** A relay in front of a port that can stop to accept connections, as a frozen or overrun host does. */
export interface StoppableRelay {
  readonly url: string;
  /** Cuts what is open; from now on connecting takes for ever. */
  readonly freeze: () => Promise<void>;
  /** Connections to it that are still being made, on the whole machine. */
  readonly connecting: () => number;
  readonly thaw: () => void;
  readonly stop: () => Promise<void>;
}

export async function startStoppableRelay(targetPort: number): Promise<StoppableRelay> {
  const { child, output, says, ended } = await spawnProgram("tcp-relay", [String(targetPort)]);
  await says("\n");
  const port = Number(/port (\d+)/.exec(output())?.[1]);
  const filling: Socket[] = [];
  return {
    url: `http://127.0.0.1:${port}`,
    async freeze() {
      child.kill("SIGUSR2");
      while (!isStopped(child)) await sleep(5);
      while (countConnecting(port) === 0 && filling.length < QUEUE_MAX) {
        for (let index = 0; index < FILLING_STEP; index += 1) filling.push(openSilent(port));
        await sleep(20);
      }
    },
    connecting: () => countConnecting(port),
    thaw() {
      for (const socket of filling) socket.destroy();
      child.kill("SIGCONT");
    },
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function openSilent(port: number): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  return socket;
}

function isStopped({ pid }: ChildProcess): boolean {
  return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}

function countConnecting(port: number): number {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = readFileSync("/proc/net/tcp", "utf8").split("\n");
  return lines.filter((line) => {
    const [, , address = "", state] = line.trim().split(/\s+/);
    return address.endsWith(remote) && state === SYN_SENT;
  }).length;
}
