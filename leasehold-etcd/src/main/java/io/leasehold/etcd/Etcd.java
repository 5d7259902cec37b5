package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.LeaseOption;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.grpc.ClientInterceptor;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.TimeLimit;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * The requests that the store makes, over one connection of the driver to each member. Every request returns at once.
 *
 * <p>Safe for use by any thread.
 */
final class Etcd implements AutoCloseable {

    private static final Duration KEEP_ALIVE = Duration.ofSeconds(10);
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(3);
    private static final long ANSWER_NANOS = 3_000_000_000L;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    /**
     * A lease of etcd, as it was granted or extended.
     *
     * @param id its number
     * @param ttlNanos for how long
     */
    record Leased(long id, long ttlNanos) {}

    private final Client client;

    /**
     * Makes the driver's client; it connects with the first request.
     *
     * @param login gives the credentials at each log-in, or null if the URI names them, or there are none
     * @param interceptors what sees each call before it is sent
     */
    Etcd(EtcdUri uri, @Nullable Login login, List<ClientInterceptor> interceptors) {
        ClientBuilder builder = builder(uri);
        if (login != null) {
            ByteSequence standIn = Keys.bytes(Login.STAND_IN);
            builder.user(standIn).password(standIn).authInterceptors(login);
        }
        interceptors.forEach(builder::interceptor);
        this.client = builder.build();
    }

    private static ClientBuilder builder(EtcdUri uri) {
        ClientBuilder builder = Client.builder()
                .endpoints(uri.endpoints())
                .connectTimeout(CONNECT_TIMEOUT)
                .keepaliveTime(KEEP_ALIVE)
                .keepaliveTimeout(CONNECT_TIMEOUT)
                .retryMaxAttempts(1)
                .waitForReady(false);
        String user = uri.user();
        String password = uri.password();
        if (user != null && password != null) {
            builder = builder.user(Keys.bytes(user)).password(Keys.bytes(password));
        }
        if (!uri.tls()) {
            return builder;
        }
        try {
            return builder.sslContext(ssl -> {
                Path ca = uri.file("ca");
                if (ca != null) {
                    ssl.trustManager(ca.toFile());
                }
                Path certificate = uri.file("cert");
                Path key = uri.file("key");
                if (certificate != null && key != null) {
                    ssl.keyManager(certificate.toFile(), key.toFile());
                }
            });
        } catch (SSLException | IllegalArgumentException e) {
            throw new StoreUnavailableException("the TLS files for " + uri + " cannot be used: " + e.getMessage(), e);
        }
    }

    // ---- the cluster

    /** How many members the cluster has. */
    CompletableFuture<Integer> members() {
        return client.getClusterClient()
                .listMember()
                .thenApply(list -> list.getMembers().size());
    }

    /** How many of them do not answer at the addresses they tell. */
    CompletableFuture<Integer> silentMembers(LockRuntime runtime) {
        return client.getClusterClient().listMember().thenCompose(list -> {
            List<CompletableFuture<Integer>> asked = list.getMembers().stream()
                    .map(member -> member.getClientURIs().stream().findFirst())
                    .map(address -> address.isEmpty()
                            ? CompletableFuture.completedFuture(1)
                            : TimeLimit.<Integer>within(
                                    runtime,
                                    ANSWER_NANOS,
                                    () -> client.getMaintenanceClient()
                                            .statusMember(address.get().toString())
                                            .thenApply(status -> 0),
                                    error -> 1,
                                    () -> 1))
                    .toList();
            return CompletableFuture.allOf(asked.toArray(CompletableFuture<?>[]::new))
                    .thenApply(done ->
                            asked.stream().mapToInt(CompletableFuture::join).sum());
        });
    }

    /** What keeps the cluster from taking writes. */
    CompletableFuture<List<String>> alarms() {
        return client.getMaintenanceClient()
                .listAlarms()
                .thenApply(answer -> answer.getAlarms().stream()
                        .map(alarm -> alarm.getAlarmType().name())
                        .distinct()
                        .toList());
    }

    // ---- leases

    CompletableFuture<Leased> lease(long ttlSeconds) {
        return client.getLeaseClient()
                .grant(ttlSeconds)
                .thenApply(granted -> new Leased(granted.getID(), granted.getTTL() * NANOS_PER_SECOND));
    }

    /** Extends a lease; empty if it has ended. */
    CompletableFuture<Optional<Leased>> keepAlive(long lease) {
        return client.getLeaseClient()
                .keepAliveOnce(lease)
                .handle((kept, error) -> {
                    if (error == null) {
                        return CompletableFuture.completedFuture(
                                kept.getTTL() > 0
                                        ? Optional.of(new Leased(lease, kept.getTTL() * NANOS_PER_SECOND))
                                        : Optional.<Leased>empty());
                    }
                    return Failures.isLeaseGone(error)
                            ? CompletableFuture.completedFuture(Optional.<Leased>empty())
                            : CompletableFuture.<Optional<Leased>>failedFuture(error);
                })
                .thenCompose(next -> next);
    }

    /** How much is left of a lease; empty if it has ended. */
    CompletableFuture<Optional<Duration>> remaining(long lease) {
        return client.getLeaseClient()
                .timeToLive(lease, LeaseOption.DEFAULT)
                .thenApply(
                        left -> left.getTTL() < 0 ? Optional.empty() : Optional.of(Duration.ofSeconds(left.getTTL())));
    }

    /** Ends a lease and deletes what it keeps; one that has ended is fine. */
    CompletableFuture<Boolean> revoke(long lease) {
        return client.getLeaseClient()
                .revoke(lease)
                .handle((revoked, error) -> {
                    if (error == null) {
                        return CompletableFuture.completedFuture(true);
                    }
                    return Failures.isLeaseGone(error)
                            ? CompletableFuture.completedFuture(false)
                            : CompletableFuture.<Boolean>failedFuture(error);
                })
                .thenCompose(next -> next);
    }

    // ---- keys

    private KV kv() {
        return client.getKVClient();
    }

    CompletableFuture<GetResponse> get(ByteSequence key, GetOption option) {
        return kv().get(key, option);
    }

    CompletableFuture<Optional<KeyValue>> get(ByteSequence key) {
        return kv().get(key).thenApply(Etcd::only);
    }

    static Optional<KeyValue> only(GetResponse found) {
        return found.getKvs().stream().findFirst();
    }

    /** Who came first of those whose keys begin so. */
    static GetOption first() {
        return inOrder(1, 0);
    }

    /** Those whose keys begin so, first come first, from this create revision on. */
    static GetOption inOrder(long limit, long fromRevision) {
        return GetOption.builder()
                .isPrefix(true)
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.ASCEND)
                .withMinCreateRevision(fromRevision)
                .withLimit(limit)
                .build();
    }

    /** Without their values, those from a key on to this one, which is left out, in the order of keys. */
    static GetOption keysUntil(ByteSequence end, long limit) {
        return GetOption.builder()
                .withRange(end)
                .withKeysOnly(true)
                .withLimit(limit)
                .build();
    }

    /** Who came last of those that came before this revision. */
    static GetOption lastBefore(long revision) {
        return GetOption.builder()
                .isPrefix(true)
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.DESCEND)
                .withMaxCreateRevision(revision - 1)
                .withLimit(1)
                .build();
    }

    /** Makes the key if it is not there, and reads it and the first of the queue; succeeded if it was made. */
    CompletableFuture<TxnResponse> make(ByteSequence key, ByteSequence value, long lease, ByteSequence queue) {
        PutOption leased = PutOption.builder().withLeaseId(lease).build();
        return kv().txn()
                .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.version(0)))
                .Then(Op.put(key, value, leased), Op.get(key, GetOption.DEFAULT), Op.get(queue, first()))
                .Else(Op.get(key, GetOption.DEFAULT), Op.get(queue, first()))
                .commit();
    }

    /** Reads the first of the queue if the key is still the one of this revision. */
    CompletableFuture<TxnResponse> look(ByteSequence key, long revision, ByteSequence queue) {
        return kv().txn().If(is(key, revision)).Then(Op.get(queue, first())).commit();
    }

    /** Puts the key, if it is still the one of this revision, under another lease. */
    CompletableFuture<TxnResponse> move(ByteSequence key, long revision, ByteSequence value, long lease) {
        PutOption leased = PutOption.builder().withLeaseId(lease).build();
        return kv().txn().If(is(key, revision)).Then(Op.put(key, value, leased)).commit();
    }

    /** Deletes the key if it is still the one of this revision. */
    CompletableFuture<Boolean> delete(ByteSequence key, long revision) {
        return kv().txn()
                .If(is(key, revision))
                .Then(Op.delete(key, DeleteOption.DEFAULT))
                .commit()
                .thenApply(TxnResponse::isSucceeded);
    }

    /** Writes the key if it is not there. */
    CompletableFuture<Boolean> putIfAbsent(ByteSequence key, ByteSequence value) {
        return kv().txn()
                .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.version(0)))
                .Then(Op.put(key, value, PutOption.DEFAULT))
                .commit()
                .thenApply(TxnResponse::isSucceeded);
    }

    private static Cmp is(ByteSequence key, long revision) {
        return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(revision));
    }

    // ---- watching

    /** Tells when the key is deleted at or after this revision. Breaks also where the member knows of no leader. */
    Watch.Watcher watch(ByteSequence key, long fromRevision, Consumer<KeyWatch.Heard> ear) {
        WatchOption option = WatchOption.builder()
                .withRevision(fromRevision)
                .withNoPut(true)
                .withRequireLeader(true)
                .build();
        Watch.Listener listener = Watch.listener(
                response -> {
                    if (response.getEvents().stream()
                            .anyMatch(event -> event.getEventType() == WatchEvent.EventType.DELETE)) {
                        ear.accept(KeyWatch.Heard.DELETED);
                    }
                },
                error -> ear.accept(KeyWatch.Heard.BROKEN),
                () -> ear.accept(KeyWatch.Heard.OVER));
        return client.getWatchClient().watch(key, option, listener);
    }

    @Override
    public void close() {
        client.close();
    }
}
