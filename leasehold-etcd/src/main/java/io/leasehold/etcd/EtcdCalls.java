package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The calls of the store to its cluster. Each call returns at once; its future fails with the driver's exception.
 *
 * <p>An implementation is safe for use by any thread.
 */
interface EtcdCalls extends AutoCloseable {

    /**
     * A lease of etcd, as it was granted or extended.
     *
     * @param id its id
     * @param ttlNanos its ttl
     */
    record Leased(long id, long ttlNanos) {}

    /** A key, if there is one, as of a revision of the cluster. */
    record Found(Optional<KeyValue> key, long revision) {}

    /** The first keys of a queue, in their order, as of a revision of the cluster. */
    record Front(List<KeyValue> keys, long revision) {
        boolean isEmpty() {
            return keys.isEmpty();
        }

        KeyValue first() {
            return keys.get(0);
        }
    }

    /** The key that was created or already existed, and the first keys of its queue. */
    record Made(Optional<KeyValue> own, Front front) {}

    /** Whether the key was still the requested one, and the first keys that were read then. */
    record Looked(boolean isThere, Front front) {}

    /** An event of a watch. */
    enum Heard {
        /** The key was deleted. */
        DELETED,
        /** The key was written. */
        CHANGED,
        /** The watch is broken; unless {@link #OVER} follows, the driver resumes it at the point where it broke. */
        BROKEN,
        /** The watch has ended by itself. */
        OVER
    }

    /** A watch that can be ended. */
    interface Watching {
        /** Ends the watch. */
        void close();
    }

    // ---- the cluster

    /** The number of members of the cluster. */
    CompletableFuture<Integer> members();

    /** The number of members that do not answer at the addresses that they announce. */
    CompletableFuture<Integer> silentMembers(LockRuntime runtime);

    /** The alarms that prevent the cluster from accepting writes. */
    CompletableFuture<List<String>> alarms();

    // ---- leases

    CompletableFuture<Leased> lease(long ttlSeconds);

    /**
     * Extends a lease; empty if it has ended. The driver sends the extension again after the answer, which puts no key.
     */
    CompletableFuture<Optional<Leased>> keepAlive(long lease);

    /** The remaining time of a lease; empty if it has ended. */
    CompletableFuture<Optional<Duration>> remaining(long lease);

    /** Revokes a lease and deletes the keys that it keeps; a lease that has ended is fine. */
    CompletableFuture<Boolean> revoke(long lease);

    // ---- keys

    CompletableFuture<Optional<KeyValue>> get(ByteSequence key);

    /** The first key of a queue. */
    CompletableFuture<Optional<KeyValue>> first(ByteSequence queue);

    /** The last key of a queue among those that were created before this revision. */
    CompletableFuture<Found> lastBefore(ByteSequence queue, long revision);

    /** A part of a queue, in the order of creation, from this create revision on. */
    CompletableFuture<List<KeyValue>> inOrder(ByteSequence queue, long limit, long fromRevision);

    /** The keys from one to another, which is excluded, without their values, in the order of keys. */
    CompletableFuture<List<KeyValue>> keysUntil(ByteSequence from, ByteSequence end, long limit);

    /**
     * Creates the key if it does not exist, and reads it and the first keys of the queue, at most so many. The request
     * is sent once: after its answer, no copy of it can arrive.
     */
    CompletableFuture<Made> make(ByteSequence key, ByteSequence value, long lease, ByteSequence queue, int most);

    /** Reads the first keys of the queue, at most so many, if the key is still the one of this revision. */
    CompletableFuture<Looked> look(ByteSequence key, long revision, ByteSequence queue, int most);

    /** Puts the key under another lease if it is still the one of this revision, with this value. */
    CompletableFuture<Looked> move(ByteSequence key, long revision, ByteSequence value, long lease);

    /**
     * Replaces one value of the key by another, under this lease, if it is still the one of this revision with the first
     * value. Reads the key after that.
     */
    CompletableFuture<Found> change(ByteSequence key, long revision, ByteSequence from, ByteSequence to, long lease);

    /** Deletes the key if it is still the one of this revision. */
    CompletableFuture<Boolean> delete(ByteSequence key, long revision);

    /** Writes the key if it does not exist. */
    CompletableFuture<Boolean> putIfAbsent(ByteSequence key, ByteSequence value);

    // ---- watching

    /**
     * Reports the deletion of the key at or after this revision. The watch also breaks if the member knows no leader.
     *
     * @param changes whether to report also when the key is written
     */
    Watching watch(ByteSequence key, long fromRevision, boolean changes, Consumer<Heard> events);

    @Override
    void close();
}
