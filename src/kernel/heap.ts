import { setFlagsFromString } from 'node:v8'

/**
 * For a process that serves: its heap may grow to four times what is used before garbage is collected, as far as V8 goes by itself
 * at most. Where little is used it stops at 13 MB more, and a device that sends a few large messages a second makes everybody wait
 * for a collection of 8 ms in each: the p99 of the others was four times what it is alone, and is less than twice so. At twice
 * instead of four times the collections of a busy process are so frequent that the p99 of its acknowledgements doubles. Not before
 * a start is done, when there is much garbage and more memory would be kept for it.
 */
export const collectSeldom = () => setFlagsFromString('--heap-growing-percent=300')
