package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Txn;
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
import io.etcd.jetcd.options.TxnOption;
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
 * The requests of the store, over one connection of the driver to each member. Every request returns at once.
 *
 * <p>Safe for use by any thread.
 */
final class Etcd implements EtcdCalls {

    private static final Duration KEEP_ALIVE = Duration.ofSeconds(10);
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(3);
    private static final long ANSWER_NANOS = 3_000_000_000L;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private static final GetOption FIRST = inOrder(1, 0);

    private final Client client;

    /**
     * Creates the driver's client, which connects with the first request.
     *
     * @param login provides the credentials for each log-in, or null if the URI names them, or there are none
     * @param interceptors receive each call before it is sent
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

    @Override
    public CompletableFuture<Integer> members() {
        return client.getClusterClient()
                .listMember()
                .thenApply(list -> list.getMembers().size());
    }

    @Override
    public CompletableFuture<Integer> silentMembers(LockRuntime runtime) {
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

    @Override
    public CompletableFuture<List<String>> alarms() {
        return client.getMaintenanceClient()
                .listAlarms()
                .thenApply(answer -> answer.getAlarms().stream()
                        .map(alarm -> alarm.getAlarmType().name())
                        .distinct()
                        .toList());
    }

    // ---- leases

    @Override
    public CompletableFuture<Leased> lease(long ttlSeconds) {
        return client.getLeaseClient()
                .grant(ttlSeconds)
                .thenApply(granted -> new Leased(granted.getID(), granted.getTTL() * NANOS_PER_SECOND));
    }

    @Override
    public CompletableFuture<Optional<Leased>> keepAlive(long lease) {
        return client.getLeaseClient()
                .keepAliveOnce(lease)
                .thenApply(kept -> Optional.of(new Leased(lease, kept.getTTL() * NANOS_PER_SECOND))
                        .filter(leased -> leased.ttlNanos() > 0))
                .exceptionallyCompose(error -> ifGone(error, Optional.empty()));
    }

    @Override
    public CompletableFuture<Optional<Duration>> remaining(long lease) {
        return client.getLeaseClient()
                .timeToLive(lease, LeaseOption.DEFAULT)
                .thenApply(
                        left -> left.getTTL() < 0 ? Optional.empty() : Optional.of(Duration.ofSeconds(left.getTTL())));
    }

    @Override
    public CompletableFuture<Boolean> revoke(long lease) {
        return client.getLeaseClient()
                .revoke(lease)
                .thenApply(revoked -> true)
                .exceptionallyCompose(error -> ifGone(error, false));
    }

    private static <T> CompletableFuture<T> ifGone(Throwable error, T answer) {
        return Failures.isLeaseGone(error)
                ? CompletableFuture.completedFuture(answer)
                : CompletableFuture.failedFuture(error);
    }

    // ---- keys

    private KV kv() {
        return client.getKVClient();
    }

    /**
     * Begins a transaction. The driver resends it only if the cluster refused it because of its log-in; a copy that was
     * still under way would come late.
     */
    private Txn transaction() {
        return kv().txn(TxnOption.DEFAULT);
    }

    private static Optional<KeyValue> only(GetResponse found) {
        return found.getKvs().stream().findFirst();
    }

    @Override
    public CompletableFuture<Optional<KeyValue>> get(ByteSequence key) {
        return kv().get(key).thenApply(Etcd::only);
    }

    @Override
    public CompletableFuture<Optional<KeyValue>> first(ByteSequence queue) {
        return kv().get(queue, FIRST).thenApply(Etcd::only);
    }

    /** Selects the keys with a prefix, in the order of their creation, from this create revision on. */
    static GetOption inOrder(long limit, long fromRevision) {
        return GetOption.builder()
                .isPrefix(true)
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.ASCEND)
                .withMinCreateRevision(fromRevision)
                .withLimit(limit)
                .build();
    }

    @Override
    public CompletableFuture<List<KeyValue>> inOrder(ByteSequence queue, long limit, long fromRevision) {
        return kv().get(queue, inOrder(limit, fromRevision)).thenApply(GetResponse::getKvs);
    }

    @Override
    public CompletableFuture<List<KeyValue>> keysUntil(ByteSequence from, ByteSequence end, long limit) {
        GetOption option = GetOption.builder()
                .withRange(end)
                .withKeysOnly(true)
                .withLimit(limit)
                .build();
        return kv().get(from, option).thenApply(GetResponse::getKvs);
    }

    @Override
    public CompletableFuture<Found> lastBefore(ByteSequence queue, long revision) {
        GetOption option = GetOption.builder()
                .isPrefix(true)
                .withSortField(GetOption.SortTarget.CREATE)
                .withSortOrder(GetOption.SortOrder.DESCEND)
                .withMaxCreateRevision(revision - 1)
                .withLimit(1)
                .build();
        return kv().get(queue, option)
                .thenApply(found -> new Found(only(found), found.getHeader().getRevision()));
    }

    @Override
    public CompletableFuture<Made> make(
            ByteSequence key, ByteSequence value, long lease, ByteSequence queue, int most) {
        Op front = Op.get(queue, first(most));
        return transaction()
                .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.version(0)))
                .Then(Op.put(key, value, under(lease)), Op.get(key, GetOption.DEFAULT), front)
                .Else(Op.get(key, GetOption.DEFAULT), front)
                .commit()
                .thenApply(made -> new Made(
                        only(made.getGetResponses().get(0)),
                        new Front(
                                made.getGetResponses().get(1).getKvs(),
                                made.getHeader().getRevision())));
    }

    private static GetOption first(int most) {
        return most == 1 ? FIRST : inOrder(most, 0);
    }

    private static PutOption under(long lease) {
        return PutOption.builder().withLeaseId(lease).build();
    }

    @Override
    public CompletableFuture<Looked> look(ByteSequence key, long revision, ByteSequence queue, int most) {
        return whileItIs(Op.get(queue, first(most)), isOf(key, revision));
    }

    @Override
    public CompletableFuture<Looked> move(ByteSequence key, long revision, ByteSequence value, long lease) {
        return whileItIs(Op.put(key, value, under(lease)), isOf(key, revision), has(key, value));
    }

    @Override
    public CompletableFuture<Found> change(
            ByteSequence key, long revision, ByteSequence from, ByteSequence to, long lease) {
        return transaction()
                .If(isOf(key, revision), has(key, from))
                .Then(Op.put(key, to, under(lease)), Op.get(key, GetOption.DEFAULT))
                .Else(Op.get(key, GetOption.DEFAULT))
                .commit()
                .thenApply(answer -> new Found(
                        only(answer.getGetResponses().get(0)),
                        answer.getHeader().getRevision()));
    }

    private static Cmp isOf(ByteSequence key, long revision) {
        return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(revision));
    }

    private static Cmp has(ByteSequence key, ByteSequence value) {
        return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.value(value));
    }

    @Override
    public CompletableFuture<Boolean> delete(ByteSequence key, long revision) {
        return whileItIs(Op.delete(key, DeleteOption.DEFAULT), isOf(key, revision))
                .thenApply(Looked::isThere);
    }

    private CompletableFuture<Looked> whileItIs(Op op, Cmp... still) {
        return transaction()
                .If(still)
                .Then(op)
                .commit()
                .thenApply(answer -> new Looked(
                        answer.isSucceeded(),
                        new Front(
                                answer.getGetResponses().stream()
                                        .findFirst()
                                        .map(GetResponse::getKvs)
                                        .orElse(List.of()),
                                answer.getHeader().getRevision())));
    }

    @Override
    public CompletableFuture<Boolean> putIfAbsent(ByteSequence key, ByteSequence value) {
        return transaction()
                .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.version(0)))
                .Then(Op.put(key, value, PutOption.DEFAULT))
                .commit()
                .thenApply(TxnResponse::isSucceeded);
    }

    // ---- watching

    @Override
    public Watching watch(ByteSequence key, long fromRevision, boolean changes, Consumer<Heard> events) {
        WatchOption option = WatchOption.builder()
                .withRevision(fromRevision)
                .withNoPut(!changes)
                .withRequireLeader(true)
                .build();
        Watch.Listener listener = Watch.listener(
                response -> {
                    for (WatchEvent event : response.getEvents()) {
                        switch (event.getEventType()) {
                            case DELETE -> events.accept(Heard.DELETED);
                            case PUT -> events.accept(Heard.CHANGED);
                            default -> {
                                // A kind of event that later versions may add tells nothing of the key.
                            }
                        }
                    }
                },
                error -> events.accept(Heard.BROKEN),
                () -> events.accept(Heard.OVER));
        return client.getWatchClient().watch(key, option, listener)::close;
    }

    @Override
    public void close() {
        client.close();
    }
}
