/** Log messages at warn and above of the files in src/kernel and src/kernel/members. */
import { defineLogMessage } from './define-log-message.ts'

export const memberListenerFailed = defineLogMessage({
  level: 'error',
  text: 'a service could not handle a change of the node list; the state of the service may be outdated',
  cause: 'A service threw an error while it handled the join, leave or return of a node.',
  action: 'Report the error. If the node misbehaves, restart it.',
})

export const nodeReturned = defineLogMessage({
  level: 'warn',
  text: 'other nodes considered this node dead, or its row was removed; joining again',
  cause:
    'The node wrote no heartbeat for 5 s: its process was suspended or overloaded, or it could not reach the database. A restore also removes rows.',
  action: 'Nothing after a restore. Otherwise check the load of the machine and the connection to the database.',
})

export const sweepFailed = defineLogMessage({
  level: 'error',
  text: 'could not clean up after a dead node; retrying',
  cause: 'Deleting rows of a dead node failed, most likely because of the database.',
  action:
    'Check the database if this message repeats. Until the cleanup succeeds, endpoints of the dead node may be shown as connected.',
})

export const leaseRenewalFailed = defineLogMessage({
  level: 'warn',
  text: 'could not renew the lease on the cleanup of a dead node; retrying',
  cause: 'The database did not answer while this node cleaned up after a dead node.',
  action: 'Nothing: if the lease expires, another node continues.',
})

export const heartbeatFailed = defineLogMessage({
  level: 'warn',
  text: 'heartbeat write failed; retrying with the next heartbeat',
  cause: 'The database did not answer.',
  action: 'Check the database. After 5 s without a heartbeat the other nodes consider this node dead.',
})

export const orphanSearchFailed = defineLogMessage({
  level: 'warn',
  text: 'could not search for rows of unknown nodes; retrying in 10 minutes',
  cause: 'The database did not answer the periodic search for rows of nodes that no longer exist.',
  action: 'Nothing if this message appears once; otherwise check the database.',
})

export const leaveNoticeFailed = defineLogMessage({
  level: 'warn',
  text: 'could not mark this node as stopped; other nodes notice the stop by the missing heartbeat',
  cause: 'The database did not answer while the node stopped.',
  action: 'Nothing: the other nodes clean up after 5 s.',
})

export const jobQueueFailed = defineLogMessage({
  level: 'error',
  text: 'the job queue reported an error; the job queue continues',
  cause: 'pg-boss could not run one of its statements, most likely because of the database.',
  action: 'Check the database if this message repeats. Jobs are not lost.',
})

export const jobFailed = defineLogMessage({
  level: 'warn',
  text: 'a job failed; it is retried unless this was its last attempt',
  cause: 'A service threw an error while it ran the job. `job` is its name; `last` is true if it was the last attempt.',
  action: 'Look at the error. If `last` is true, the job is not run again.',
})

export const writeTimedOut = defineLogMessage({
  level: 'error',
  text: 'writing rows did not succeed in time; the senders of the rows get an error',
  cause: 'The database was slow or unreachable for 30 s. `writer` is the kind of rows, `rows` their number.',
  action: 'Check the database. Senders that wait for an acknowledgement send again.',
})

export const writeFailed = defineLogMessage({
  level: 'error',
  text: 'could not write rows; retrying if the error is temporary',
  cause:
    'The database rejected a batch or did not answer. `writer` is the kind of rows; `retrying` is true if it is retried.',
  action: 'Check the database. If `retrying` is false, the senders get an error; look at the error.',
})

export const periodicTaskFailed = defineLogMessage({
  level: 'error',
  text: 'a periodic task failed; retrying',
  cause:
    'A service threw an error in its periodic work, or the database did not answer. `retryInSeconds` is the delay.',
  action: 'Look at the error if this message repeats. The work of this period is not done until the task succeeds.',
})

export const descriptorsExhausted = defineLogMessage({
  level: 'error',
  text: 'no file descriptor is free: connections are dropped until another connection is closed; raise the limit (ulimit -n)',
  cause: 'The process or the machine has as many open files and connections as its limit allows (`limit`).',
  action:
    'Raise the limit of open files (ulimit -n, LimitNOFILE of systemd), or lower WAYPOST_HTTP_CONNECTIONS and WAYPOST_MQTT_CONNECTIONS.',
})

export const acceptFailed = defineLogMessage({
  level: 'error',
  text: 'could not accept a connection; the listener continues',
  cause: 'The operating system reported an error for a new connection, such as that the client has already closed it.',
  action: 'Nothing if this message is rare. Otherwise check the memory and the network of the machine.',
})

export const totalRefusal = defineLogMessage({
  level: 'warn',
  text: 'connection limit reached; refusing new connections',
  cause: 'All connections that `max` allows for this listener are open and in use. Logged at most every 10 s.',
  action:
    'Raise WAYPOST_HTTP_CONNECTIONS or WAYPOST_MQTT_CONNECTIONS and the limit of open files (ulimit -n), or add a node.',
})

export const addressRefusal = defineLogMessage({
  level: 'warn',
  text: 'connection limit of one address reached; refusing new connections from this address',
  cause: 'One address has as many connections in use as a single address may have. Logged at most every 10 s.',
  action:
    'If `address` is a proxy or a site with many devices, set WAYPOST_TRUST_PROXY or raise the limit per address. Otherwise check what the client does.',
})

export const totalEviction = defineLogMessage({
  level: 'warn',
  text: 'connection limit reached; closing connections that are idle, that send an HTTP body slowly, or that are anonymous MQTT clients',
  cause:
    'All connections that `max` allows for this listener are open, and some connections are not in use. Logged at most every 10 s.',
  action:
    'Nothing if this message is rare. Otherwise raise WAYPOST_HTTP_CONNECTIONS or WAYPOST_MQTT_CONNECTIONS and the limit of open files (ulimit -n), or add a node.',
})

export const addressEviction = defineLogMessage({
  level: 'warn',
  text: 'connection limit of one address reached; closing connections of this address: idle connections, connections that send an HTTP body slowly, and anonymous MQTT clients',
  cause:
    'One address has as many connections as a single address may have, and some of these connections are not in use. Logged at most every 10 s.',
  action:
    'If `address` is a proxy or a site with many devices, set WAYPOST_TRUST_PROXY or raise the limit per address. Otherwise check what the client does.',
})

export const certificateRenewalFailed = defineLogMessage({
  level: 'error',
  text: 'could not renew the certificate of a TLS listener; the old certificate stays in use',
  cause:
    'The certificate files of `listener` cannot be read or do not fit together, or the certificate authority of the platform failed; `err` says which.',
  action:
    'Correct the files that WAYPOST_MQTTS_… or WAYPOST_HTTPS_… names; the listener reads them again when they change. If the platform issues the certificate, it tries again in an hour.',
})

export const tenantLimitsUnknown = defineLogMessage({
  level: 'warn',
  text: 'could not read the limits of tenants; the last known limits apply',
  cause: 'The database did not answer.',
  action: 'Check the database if this message repeats.',
})

export const dailyQuotaExceeded = defineLogMessage({
  level: 'warn',
  text: 'a tenant has used its quota of the day; its samples are refused and its messages are not recorded until midnight (UTC)',
  cause:
    'Devices or callers of the tenant have stored as many bytes as WAYPOST_TENANT_MB_PER_DAY or its package allows.',
  action:
    'Look for a device that sends too much. If the amount is intended, raise `traffic` in the package of the tenant, or raise WAYPOST_TENANT_MB_PER_DAY; the change applies within seconds.',
})

export const dailyQuotaWriteFailed = defineLogMessage({
  level: 'warn',
  text: 'could not write the daily usage of tenants; retrying in a second',
  cause: 'The database did not answer.',
  action: 'Nothing if this message appears once; otherwise check the database.',
})

export const statisticsNotUpdated = defineLogMessage({
  level: 'warn',
  text: 'could not analyze tables that have just grown; some statements may be slow until autovacuum analyzes these tables',
  cause: 'The database did not answer in time.',
  action: 'Check the database. Nothing is lost.',
})

export const diskSpaceLow = defineLogMessage({
  level: 'error',
  text: 'a disk has less free space than the minimum; changes are refused until there is space again',
  cause: 'The disk of the data directory, of the blobs or of the database has less than WAYPOST_DISK_FREE_MIN_MB free.',
  action:
    'Make space or enlarge the disk. Reading, logins and deletions still work. Once there is space, changes are accepted again without a restart.',
})

export const lockoutBegan = defineLogMessage({
  level: 'warn',
  text: 'too many wrong passwords, secrets or tokens; further attempts are refused for a while',
  cause:
    'Somebody guesses, or a client or device has an old secret. `lockouts` is the number since the last such message.',
  action:
    'Look for the address in the audit log and in the refusals. Give clients the right secret. If an address guesses, block it in the firewall.',
})

export const auditWriteFailed = defineLogMessage({
  level: 'error',
  text: 'could not write to the audit log; records of failed requests or of logins are lost',
  cause:
    'The database did not answer. Records of changes are never lost: a change succeeds only if its record is written.',
  action: 'Check the database if this message repeats.',
})

export const diskSpaceUnknown = defineLogMessage({
  level: 'warn',
  text: 'the free space of a directory is unknown; the directory is no longer watched',
  cause: 'The directory was removed, or the node has no permission to read it.',
  action: 'Watch the space of this disk by other means, or restart the node once the directory can be read.',
})

export const keyReloadFailed = defineLogMessage({
  level: 'error',
  text: 'could not load the keys for secrets during a rotation; this node loads them again in a second',
  cause: 'The database did not answer, or the master key of this node opens neither the old nor the new keys.',
  action:
    'Check the database, and that this node has the same WAYPOST_MASTER_KEY or keys/master.key as the other nodes.',
})
