/**
 * Parses the topics of devices (1/KP): `kp1/<version>/<extension>/<token>[/<resource path…>][/<request id>]`. The parser runs for every
 * message and therefore allocates no arrays. Every slash is significant.
 */
export interface Topic {
  versionName: string
  extension: string
  token: string
  /** `kp1/<version>/<extension>/<token>`. */
  prefix: string
}

export interface Tail {
  /** The levels between token and request id, such as `/json`; may be empty. */
  resourcePath: string
  requestId: number | undefined
}

/** The reason why a topic is not valid for a device. */
export type TopicProblem =
  | 'foreign'
  | 'malformed'
  | 'too_long'
  | 'too_deep'
  | 'request_id_too_large'
  | 'control_character'

/** Error texts for the device. */
export const topicProblems: Record<TopicProblem, string> = {
  foreign: 'Devices speak on topics that begin with kp1/',
  malformed: 'Expected kp1/<application version>/<extension>/<token>, then the resource',
  too_long: 'The topic is too long',
  too_deep: 'The topic has too many levels',
  request_id_too_large: 'The request id is too large',
  control_character: 'The topic contains a control character',
}

export const topicLengthMax = 2048
export const tailLevelsMax = 32
/** 4/ESP allows only 32 bits. Larger ids are accepted too, because some clients use the time in milliseconds as request id. */
export const requestIdMax = Number.MAX_SAFE_INTEGER

const protocolPrefix = 'kp1/'
const slash = 47
const zero = 48
const nine = 57

/** Returns the index at which the prefix `kp1/<version>/<extension>/<token>` ends, or -1 if the topic has no such prefix. */
export function prefixEnd(topic: string): number {
  if (!topic.startsWith(protocolPrefix)) return -1
  const version = topic.indexOf('/', 4)
  if (version < 5) return -1
  const extension = topic.indexOf('/', version + 1)
  if (extension < version + 2) return -1
  const token = topic.indexOf('/', extension + 1)
  const end = token < 0 ? topic.length : token
  return end === extension + 1 ? -1 : end
}

/** Parses the prefix of a topic. */
export function readTopic(topic: string): Topic | TopicProblem {
  if (!topic.startsWith(protocolPrefix)) return 'foreign'
  if (topic.length > topicLengthMax) return 'too_long'
  const end = prefixEnd(topic)
  if (end < 0) return 'malformed'
  const version = topic.indexOf('/', 4)
  const extension = topic.indexOf('/', version + 1)
  return {
    versionName: topic.slice(4, version),
    extension: topic.slice(version + 1, extension),
    token: topic.slice(extension + 1, end),
    prefix: topic.slice(0, end),
  }
}

/** Returns the key by which the lockout counts tokens. It contains the version, because a token is valid for its version only. */
export const tokenKeyOf = ({ versionName, token }: Topic) => `${versionName}/${token}`

/** Parses the part after the prefix. The last level is a request id if it consists of digits. */
export function readTail(topic: string, end: number, idMax = requestIdMax): Tail | TopicProblem {
  const { length } = topic
  if (length > topicLengthMax) return 'too_long'
  // Levels are counted only if the text is long enough to exceed the limit.
  if (length - end > tailLevelsMax && countLevels(topic, end) > tailLevelsMax) return 'too_deep'
  let idStart = length
  while (idStart > end && isDigit(topic.charCodeAt(idStart - 1))) idStart--
  if (idStart === length || idStart <= end || topic.charCodeAt(idStart - 1) !== slash)
    return { resourcePath: topic.slice(end), requestId: undefined }
  const requestId = Number(topic.slice(idStart))
  return requestId > idMax ? 'request_id_too_large' : { resourcePath: topic.slice(end, idStart - 1), requestId }
}

const isDigit = (code: number) => code >= zero && code <= nine

function countLevels(topic: string, from: number): number {
  let count = 0
  for (let at = from; at < topic.length; at++) if (topic.charCodeAt(at) === slash) count++
  return count
}

/** Returns true if the filter of a subscription matches the topic. `+` matches one level, `#` the parent and all levels below it. */
export function filterMatches(filter: string, topic: string): boolean {
  let filterStart = 0
  let topicStart = 0
  for (;;) {
    const filterEnd = levelEnd(filter, filterStart)
    const topicEnd = levelEnd(topic, topicStart)
    const wildcard = filterEnd - filterStart === 1 ? filter.charCodeAt(filterStart) : 0
    if (wildcard === hash) return true
    if (wildcard !== plus && !sameLevel(filter, filterStart, filterEnd, topic, topicStart, topicEnd)) return false
    const filterDone = filterEnd === filter.length
    if (topicEnd === topic.length) return filterDone || filter.slice(filterEnd) === '/#'
    if (filterDone) return false
    filterStart = filterEnd + 1
    topicStart = topicEnd + 1
  }
}

const plus = 43
const hash = 35

function levelEnd(text: string, from: number): number {
  const at = text.indexOf('/', from)
  return at < 0 ? text.length : at
}

function sameLevel(a: string, aFrom: number, aTo: number, b: string, bFrom: number, bTo: number): boolean {
  if (aTo - aFrom !== bTo - bFrom) return false
  for (let i = 0; i < aTo - aFrom; i++) if (a.charCodeAt(aFrom + i) !== b.charCodeAt(bFrom + i)) return false
  return true
}

/**
 * Returns the version, extension and token of a filter that names an endpoint, or undefined. Version and token must not be wildcards; the
 * extension may be.
 */
export function endpointOfFilter(filter: string): Topic | undefined {
  if (filter.length > topicLengthMax) return undefined
  const topic = readTopic(filter)
  if (typeof topic === 'string') return undefined
  return [topic.versionName, topic.token].some((level) => level.includes('+') || level.includes('#'))
    ? undefined
    : topic
}
