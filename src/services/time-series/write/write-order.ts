/** The order of writes over all nodes, from a sequence of the database: no clock of a process decides which of two is later. */
export interface WriteOrder {
  /** The first number of the next group. Calls are answered in their order, so an earlier call has the smaller number. */
  next(): Promise<number>
  /** A place in the order: what is stored from now on comes after it. */
  position(): Promise<number>
}

/** `ask`: the next number, for a group of rows or for nobody. */
export function createWriteOrder(ask: { next(): Promise<number>; position(): Promise<number> }): WriteOrder {
  let before: Promise<unknown> = Promise.resolve()
  function after(work: () => Promise<number>) {
    const number = before.then(work, work)
    number.catch(() => {})
    before = number
    return number
  }
  return { next: () => after(ask.next), position: () => after(ask.position) }
}
