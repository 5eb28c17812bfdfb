import { totalmem } from 'node:os'

const MiB = 1024 * 1024

/** Returns the server's settings. They are passed on the command line, so that they always match this version of Waypost. */
export function settings(socketDirectory: string, memoryBytes = availableMemory()): Record<string, string | number> {
  return {
    listen_addresses: '',
    unix_socket_directories: socketDirectory,
    unix_socket_permissions: '0700',
    cluster_name: 'waypost',
    max_connections: 100,

    shared_buffers: `${sharedBuffersMiB(memoryBytes)}MB`,
    // With this value, the write-ahead log stays below 1 GB on disk. A checkpoint begins at about half of this size.
    max_wal_size: '768MB',
    jit: 'off',
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    autovacuum: 'on',

    // An embedded server has no replicas. With these settings, a load of 2M rows takes 7.3 s instead of 8.9 s, and the server has one
    // process less.
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_logical_replication_workers: 0,
    // In our benchmarks (loads, commits, scans), `sync` is as fast as `worker`. It needs three processes less and 1 MB less memory.
    io_method: 'sync',
    // These values save 8 MB and 1.5 MB in an idle server. The defaults are made for larger machines.
    wal_buffers: '8MB',
    io_max_concurrency: 8,

    // The server logs only what an operator needs, without data from statements (log.ts).
    logging_collector: 'off',
    log_destination: 'stderr',
    log_line_prefix: '%b: ',
    log_min_messages: 'warning',
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
  }
}

/**
 * Returns a quarter of the memory, between 32 and 512 MiB. PostgreSQL allocates buffer headers at the start, so an idle server takes 24 MB
 * with 32 MiB and 49 MB with 512 MiB. Beyond 512 MiB, the file cache of the system is as fast.
 */
function sharedBuffersMiB(memoryBytes: number): number {
  return Math.min(Math.max(Math.floor(memoryBytes / 4 / MiB), 32), 512)
}

function availableMemory(): number {
  // constrainedMemory is the memory limit of a container. Without a limit, it is 0 or a huge number.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}
