/** Numbers writes across all nodes with a database sequence, so that no clock decides which of two writes is later. */
export interface WriteOrder {
  /** Returns the first number of the next group. Numbers increase in the order of the calls. */
  next(): Promise<number>
  /** Returns a number that is less than the numbers of all later writes. */
  position(): Promise<number>
}

/** Serializes requests to `source`, so that numbers are given in the order of the calls. */
export function createWriteOrder(source: { next(): Promise<number>; position(): Promise<number> }): WriteOrder {
  let before: Promise<unknown> = Promise.resolve()
  function after(work: () => Promise<number>) {
    const number = before.then(work, work)
    number.catch(() => {})
    before = number
    return number
  }
  return { next: () => after(source.next), position: () => after(source.position) }
}
