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
 * The calls that the store makes to its cluster. Each one returns at once; its future fails with the driver's exception.
 *
 * <p>An implementation is safe for use by any thread.
 */
interface EtcdCalls extends AutoCloseable {

    /**
     * A lease of etcd, as it was granted or extended.
     *
     * @param id its number
     * @param ttlNanos for how long
     */
    record Leased(long id, long ttlNanos) {}

    /** A key, if there is one, as of a revision of the cluster. */
    record Found(Optional<KeyValue> key, long revision) {}

    /** The key that was made or was there before, and the first of its queue, as of a revision of the cluster. */
    record Made(Optional<KeyValue> own, Optional<KeyValue> first, long revision) {}

    /** Whether the key was still the one asked for, and what was read then, as of a revision of the cluster. */
    record Looked(boolean isThere, Optional<KeyValue> first, long revision) {}

    /** An event of a watch. */
    enum Heard {
        /** The key was deleted. */
        DELETED,
        /** The watch is broken; unless {@link #OVER} follows, the driver goes on with it where it was. */
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

    /** How many members the cluster has. */
    CompletableFuture<Integer> members();

    /** How many of them do not answer at the addresses they tell. */
    CompletableFuture<Integer> silentMembers(LockRuntime runtime);

    /** The alarms that keep the cluster from taking writes. */
    CompletableFuture<List<String>> alarms();

    // ---- leases

    CompletableFuture<Leased> lease(long ttlSeconds);

    /** Extends a lease; empty if it has ended. The driver sends it a second time once it was answered, which puts no key. */
    CompletableFuture<Optional<Leased>> keepAlive(long lease);

    /** How much is left of a lease; empty if it has ended. */
    CompletableFuture<Optional<Duration>> remaining(long lease);

    /** Ends a lease and deletes what it keeps; one that has ended is fine. */
    CompletableFuture<Boolean> revoke(long lease);

    // ---- keys

    CompletableFuture<Optional<KeyValue>> get(ByteSequence key);

    /** The first of a queue. */
    CompletableFuture<Optional<KeyValue>> first(ByteSequence queue);

    /** The last of those of a queue that came before this revision. */
    CompletableFuture<Found> lastBefore(ByteSequence queue, long revision);

    /** A part of a queue, first come first, from this create revision on. */
    CompletableFuture<List<KeyValue>> inOrder(ByteSequence queue, long limit, long fromRevision);

    /** The keys from one on to another, which is left out, without their values, in the order of keys. */
    CompletableFuture<List<KeyValue>> keysUntil(ByteSequence from, ByteSequence end, long limit);

    /**
     * Makes the key if it is not there, and reads it and the first of the queue. The request is sent once: after its answer no copy of it
     * can arrive.
     */
    CompletableFuture<Made> make(ByteSequence key, ByteSequence value, long lease, ByteSequence queue);

    /** Reads the first of the queue if the key is still the one of this revision. */
    CompletableFuture<Looked> look(ByteSequence key, long revision, ByteSequence queue);

    /** Puts the key, if it is still the one of this revision, under another lease. */
    CompletableFuture<Looked> move(ByteSequence key, long revision, ByteSequence value, long lease);

    /** Deletes the key if it is still the one of this revision. */
    CompletableFuture<Boolean> delete(ByteSequence key, long revision);

    /** Writes the key if it is not there. */
    CompletableFuture<Boolean> putIfAbsent(ByteSequence key, ByteSequence value);

    // ---- watching

    /** Reports the deletion of the key at or after this revision. Breaks also where the member knows of no leader. */
    Watching watch(ByteSequence key, long fromRevision, Consumer<Heard> events);

    @Override
    void close();
}
