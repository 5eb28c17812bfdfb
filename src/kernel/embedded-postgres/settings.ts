import { totalmem } from 'node:os'

const MiB = 1024 * 1024

/** The server's settings, on its command line rather than in a file: they always are those of this version. */
export function settings(socketDirectory: string, memoryBytes = availableMemory()): Record<string, string | number> {
  return {
    listen_addresses: '',
    unix_socket_directories: socketDirectory,
    unix_socket_permissions: '0700',
    cluster_name: 'waypost',
    max_connections: 100,

    shared_buffers: `${sharedBuffersMiB(memoryBytes)}MB`,
    max_wal_size: '4GB',
    jit: 'off',
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    autovacuum: 'on',

    // Nobody replicates an embedded server: a load of 2M rows takes 7.3 s instead of 8.9 s, and there is one process less.
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_logical_replication_workers: 0,
    // Against `worker`: the same speed here (loads, commits, scans), three processes and 1 MB less.
    io_method: 'sync',

    // Only what an operator should see, and never the data in it: see log.ts.
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
 * A quarter of the memory. Buffers are taken as they are used, but their headers at once: the idle server has 24 MB with 32,
 * 36 MB with 256, 49 MB with 512 and 60 MB with 1024, one connection included. Beyond 512 the file cache does as well.
 */
function sharedBuffersMiB(memoryBytes: number): number {
  return Math.min(Math.max(Math.floor(memoryBytes / 4 / MiB), 32), 512)
}

function availableMemory(): number {
  // A container's limit; 0 or an absurdly high number where there is none.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}
