package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A topology with one master for all keys: a single server, the first of a replicated group, or the master that
 * Sentinels name.
 *
 * <p>A replicated group has no fail-over: its master is always the first server in the URI. If Sentinels name the
 * master, the link to a former master is closed after one of three events: a Sentinel reports the switch, a request was
 * not answered, or the server answers READONLY. Without Sentinels, a link is closed after READONLY, too, but {@link
 * Demotions not often}: the name of the server may lead to its successor.
 */
final class MasterTopology implements Topology {

    /** The time limit of a question to a replica, which is less than that of an opening. */
    private static final long REPLICA_NANOS = 2_000_000_000L;

    private final Deployment where;
    private final Driver driver;
    private final RedisErrors errors;
    private final LockRuntime runtime;
    private final Connections.Locator locator;
    private final Connections connections;
    private final @Nullable Naming sentinels;
    private final Demotions demotions = new Demotions();
    private volatile @Nullable Subscriptions subscriptions;
    private volatile @Nullable MasterTracking tracking;
    private volatile Runnable onReconnected = () -> {};

    MasterTopology(Deployment where, Driver driver, RedisErrors errors, LockRuntime runtime) {
        this.where = where;
        this.driver = driver;
        this.errors = errors;
        this.runtime = runtime;
        boolean named = where.kind() == Deployment.Kind.SENTINEL;
        this.sentinels = named ? naming() : null;
        this.locator = sentinels != null
                ? sentinels
                : Connections.Locator.fixed(where.servers().get(0));
        this.connections = new Connections(
                driver,
                locator,
                named ? Expectation.NAMED_MASTER : Expectation.SERVER,
                where.toString(),
                errors,
                runtime);
        connections.onReconnected(this::reconnected);
    }

    private Naming naming() {
        Supplier<RedisUri> client = where.namingClient();
        return client == null
                ? new Sentinels(where, driver, errors, runtime, this::named)
                : new NamedByClient(client, runtime, this::named);
    }

    @Override
    public CompletableFuture<Void> open() {
        return connections.open().thenCompose(link -> {
            if (sentinels != null) {
                sentinels.watch();
            }
            return where.kind() == Deployment.Kind.REPLICATED
                    ? replicasFollow(link)
                    : CompletableFuture.<Void>completedFuture(null);
        });
    }

    /**
     * Checks the named replicas. A server that is not a replica would be a second master. A replica that is down is no
     * reason to refuse.
     */
    private CompletableFuture<Void> replicasFollow(Link master) {
        CompletableFuture<?>[] each = where.servers().stream()
                .skip(1)
                .map(replica -> infoOf(replica).handle((info, error) -> {
                    if (error == null && !ServerFacts.parse(info).replica()) {
                        throw new UnsafeStoreException(
                                replica.address() + " is named as a replica of "
                                        + master.address().address() + " and is a master itself: no other"
                                        + " server may be one. If it was promoted, name it first",
                                null);
                    }
                    if (error != null && Failure.unwrapped(error) instanceof ServerRefusal refusal) {
                        errors.warnOnce(
                                String.valueOf(refusal.getMessage()),
                                "see whether " + replica.address() + " is a replica");
                    }
                    return info;
                }))
                .toArray(CompletableFuture<?>[]::new);
        return CompletableFuture.allOf(each);
    }

    /** Asks a replica for its {@code INFO} with a short time limit: the opening does not wait for a frozen replica. */
    private CompletableFuture<String> infoOf(RedisUri replica) {
        return StepLimit.ofQuestion(
                driver,
                replica,
                connection -> connection.ask(PlainCommand.INFO),
                REPLICA_NANOS,
                () -> new StoreUnavailableException(
                        replica.address() + " did not tell in time whether it is a replica", null),
                runtime);
    }

    @Override
    public void keepTrying() {
        if (sentinels != null) {
            sentinels.watch();
        }
        connections.keepTrying();
    }

    @Override
    public void onReconnected(Runnable listener) {
        onReconnected = listener;
    }

    private void reconnected() {
        Link link = connections.current();
        Subscriptions pushes = subscriptions;
        if (link != null && pushes != null) {
            pushes.leaveUnlessAt(link.incarnation());
        }
        MasterTracking tracked = tracking;
        if (link != null && tracked != null) {
            tracked.leave();
        }
        onReconnected.run();
    }

    @Override
    public @Nullable Link current(String key) {
        return connections.current();
    }

    @Override
    public @Nullable LockStoreException failure(String key) {
        return connections.failure();
    }

    @Override
    public List<Link> everywhere() {
        Link link = connections.current();
        if (link == null) {
            throw errors.notConnected("ask the server", connections.failure()).error();
        }
        return List.of(link);
    }

    @Override
    public List<Link> connected() {
        return everywhere();
    }

    @Override
    public @Nullable CompletableFuture<Detour> detour(String key, Link asked, String error) {
        if (RedisErrors.isReadOnly(error)) {
            takesNoWrites(asked);
        }
        return null;
    }

    @Override
    public void takesNoWrites(Link asked) {
        // The server was demoted. The next link leads to the master that the Sentinels name, once it accepts writes;
        // without Sentinels, to the server that has the name now.
        if (sentinels != null
                || (asked.isOpen() && demotions.leaves(asked.facts().replica(), runtime.nanoTime()))) {
            asked.close();
        }
    }

    @Override
    public void unanswered(Link link) {
        link.unanswered();
        if (sentinels != null) {
            sentinels.ask();
        }
    }

    /** Closes a link to a server that is no longer the master that the Sentinels name. */
    private void named(RedisUri master) {
        connections.leaveUnlessAt(master);
    }

    @Override
    public WakeUps wakeUps(WakeUps.Listener onMessage) {
        Subscriptions made = new Subscriptions(
                driver, new WhereTheLinkLeads(), Channels.ofClient(runtime), "wake-ups", errors, runtime, onMessage);
        subscriptions = made;
        return made;
    }

    @Override
    public Tracking tracking(Tracking.Listener listener) {
        MasterTracking made = new MasterTracking(
                driver, new WhereTheLinkLeads(), () -> connections.current() != null, errors, runtime, listener);
        tracking = made;
        return made;
    }

    /**
     * Locates the server for pushes: the server of the current link, if a link exists, since messages for this client
     * are published there.
     */
    private final class WhereTheLinkLeads implements Connections.Locator {
        @Override
        public CompletableFuture<RedisUri> locate() {
            Link link = connections.current();
            return link != null ? CompletableFuture.completedFuture(link.address()) : locator.locate();
        }

        @Override
        public boolean isStill(RedisUri server) {
            Link link = connections.current();
            return link == null || link.address().address().equals(server.address());
        }
    }

    @Override
    public void close() {
        connections.close();
        if (sentinels != null) {
            sentinels.close();
        }
        driver.close();
    }
}
