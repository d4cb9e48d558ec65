import { readFileSync } from "node:fs";

/**
 * Returns how many packets of this network namespace had no way out, and how many datagrams there were of any kind: what
 * names are looked up with.
 */
export function packetsForElsewhere(): number {
  return (
    counterOf("/proc/net/snmp", "Ip", "OutNoRoutes") +
    counterOf("/proc/net/snmp", "Udp", "OutDatagrams") +
    Number(/^Ip6OutNoRoutes\s+(\d+)/m.exec(readFileSync("/proc/net/snmp6", "utf8"))?.[1]) +
    Number(/^Udp6OutDatagrams\s+(\d+)/m.exec(readFileSync("/proc/net/snmp6", "utf8"))?.[1])
  );
}

function counterOf(file: string, group: string, name: string): number {
  const [names = "", values = ""] = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.startsWith(`${group}: `));
  return Number(values.split(" ")[names.split(" ").indexOf(name)]);
}
