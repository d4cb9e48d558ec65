import { useCallback, useEffect, useRef, useState } from "react";

/** Within so many pixels of the end somebody is reading along. */
const NEAR_PX = 80;

/** Keeps a place at its end while its one child grows, for as long as its reader stays there. */
export function useFollowEnd() {
  const place = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const follows = useRef(true);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const look = () => {
      const left = element.scrollHeight - element.scrollTop - element.clientHeight;
      follows.current = left < NEAR_PX;
      setAtEnd(follows.current);
    };
    // Whatever makes the content longer: words that come, answers that are drawn piece by piece, formulas.
    const growth = new ResizeObserver(() => {
      if (follows.current) element.scrollTop = element.scrollHeight;
    });
    const content = element.firstElementChild;
    if (content !== null) growth.observe(content);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      growth.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  const goToEnd = useCallback(() => {
    follows.current = true;
    setAtEnd(true);
    place.current?.scrollTo({ top: place.current.scrollHeight });
  }, []);
  return { place, isAtEnd, goToEnd };
}
