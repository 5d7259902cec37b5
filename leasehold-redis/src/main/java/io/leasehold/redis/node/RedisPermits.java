package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LifeCheck;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.PermitReplies;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.toolkit.Glob;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The permits of one node: each verb is one script over the record and the queue of a name. Safe for all threads. */
final class RedisPermits implements StorePermits {

    private static final int KEYS_PER_STEP = 100;

    private final Requests requests;
    private final WaitAcks acks;
    private final PermitReplies replies;
    private final KeyLayout keys;
    private final LifeCheck life;
    private final KeyScan scan;
    private final RedisAdmin.TellTaken tellTaken;

    /**
     * Creates the permits of a node.
     *
     * @param life how a script that hands permits over knows the run id of its server
     * @param tellTaken notifies a holder that its permit was removed
     */
    RedisPermits(
            Requests requests,
            WaitAcks acks,
            PermitReplies replies,
            KeyLayout keys,
            LifeCheck life,
            KeyScan scan,
            RedisAdmin.TellTaken tellTaken) {
        this.requests = requests;
        this.acks = acks;
        this.replies = replies;
        this.keys = keys;
        this.life = life;
        this.scan = scan;
        this.tellTaken = tellTaken;
    }

    private static Requests.Subject subject(String verb, LockName name) {
        return new Requests.Subject(verb, name);
    }

    /** Proposes a ballot. */
    CompletableFuture<NodeReply> propose(Ballot ballot, GrantCalls.@Nullable Place place, long timeoutNanos) {
        AcquireRequest request = ballot.request();
        LockName name = request.name();
        List<String> arguments = new ArrayList<>(List.of(
                request.owner().hex(),
                request.holderId(),
                Long.toString(NodeSettings.ceilMillis(request.ttlNanos())),
                Long.toString(ballot.candidate()),
                Long.toString(ballot.tokens().last()),
                Integer.toString(name.permitCount())));
        if (place != null) {
            arguments.add(Long.toString(place.millis()));
            arguments.add(place.channel());
            arguments.add(Long.toString(NodeSettings.ceilMillis(ballot.claimNanos())));
        }
        Requests.Subject what = subject("acquire", name);
        ScriptCall call =
                new ScriptCall(LuaScript.PERMITS_ACQUIRE, keys.allOfPermits(name), arguments.toArray(String[]::new));
        return acks.acquire(
                what,
                timeoutNanos,
                place == null ? call : call.checking(life),
                (reply, link) -> replies.acquire(reply, link.incarnation(), name, what));
    }

    /** Ends an owner token, and serves the waiters. */
    CompletableFuture<ReleaseReply> release(LockName name, ReleaseRequest request) {
        return release(
                name,
                request,
                call(LuaScript.PERMITS_RELEASE, keys.keysOfPermits(name), request)
                        .checking(life));
    }

    /** Ends an owner token with the record alone, while the keys are at two servers. */
    CompletableFuture<ReleaseReply> releaseKey(LockName name, ReleaseRequest request) {
        return release(name, request, call(LuaScript.PERMITS_RELEASE_KEY, new String[] {keys.lock(name)}, request));
    }

    private static ScriptCall call(LuaScript script, String[] of, ReleaseRequest request) {
        return new ScriptCall(script, of, new String[] {request.owner().hex(), Long.toString(request.ballot())});
    }

    private CompletableFuture<ReleaseReply> release(LockName name, ReleaseRequest request, ScriptCall call) {
        Requests.Subject what = subject("release", name);
        return requests.run(
                what,
                request.timeoutNanos(),
                call,
                (reply, link) -> replies.release(reply, what),
                FailedReplies::releaseFailed);
    }

    @Override
    public boolean takesSeveral() {
        return true;
    }

    @Override
    public CompletableFuture<Optional<PermitsStatus>> describe(LockName name) {
        return inspect(name, replies::inspect);
    }

    /** Reads a reply about these permits. */
    private interface Reading {
        Optional<PermitsStatus> of(List<?> reply, LockName permits, Object what);
    }

    private CompletableFuture<Optional<PermitsStatus>> inspect(LockName name, Reading reading) {
        if (keys.refusal(name) != null) {
            return CompletableFuture.completedFuture(Optional.empty());
        }
        Requests.Subject what = subject("inspect", name);
        return requests.runOrThrow(
                what,
                new ScriptCall(LuaScript.PERMITS_INSPECT, new String[] {keys.lock(name)}, new String[0]),
                (reply, link) -> reading.of(reply, name, what));
    }

    @Override
    public CompletableFuture<List<PermitsStatus>> list(String glob, int limit) {
        Glob names = Glob.of(glob);
        NavigableSet<LockName> found = new TreeSet<>();
        return scan.of("list permits", keys.permitsPattern(), KEYS_PER_STEP, step -> {
                    for (String key : step) {
                        LockName name = keys.permitsOf(key);
                        if (name != null && names.matches(name)) {
                            found.add(name);
                        }
                    }
                    return CompletableFuture.completedFuture(null);
                })
                .thenCompose(done -> held(List.copyOf(found), 0, limit, new ArrayList<>()));
    }

    /**
     * Reads one name after the other, since few have permits, and keeps those of which one is held. Other programs may
     * have keys that look like records of permits: the list leaves them out.
     */
    private CompletableFuture<List<PermitsStatus>> held(
            List<LockName> names, int from, int limit, List<PermitsStatus> found) {
        if (from >= names.size() || found.size() >= limit) {
            return CompletableFuture.completedFuture(found);
        }
        return inspect(names.get(from), replies::listed).thenCompose(status -> {
            status.filter(permits -> !permits.held().isEmpty()).ifPresent(found::add);
            return held(names, from + 1, limit, found);
        });
    }

    @Override
    public CompletableFuture<Boolean> change(LockName name, int count, long version) {
        Requests.Subject what = subject("change the count of", name);
        return requests.runOrThrow(
                what,
                new ScriptCall(LuaScript.PERMITS_CHANGE, keys.allOfPermits(name), new String[] {
                    Integer.toString(count), Long.toString(version)
                }),
                (reply, link) -> replies.change(reply, what));
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, int slot, @Nullable String holderId) {
        if ((holderId != null && holderId.isEmpty()) || slot < 0 || keys.refusal(name) != null) {
            // On the wire an empty holder id means any holder.
            return CompletableFuture.completedFuture(false);
        }
        Requests.Subject what = subject("take away one of", name);
        return requests.runOrThrow(
                        what,
                        new ScriptCall(LuaScript.PERMITS_FORCE_RELEASE, keys.keysOfPermits(name), new String[] {
                            Integer.toString(slot), holderId == null ? "" : holderId
                        }),
                        (reply, link) -> replies.forceRelease(reply, what))
                .thenCompose(loser -> loser.isEmpty()
                        ? CompletableFuture.completedFuture(false)
                        : tellTaken.tell(name, loser.get()).thenApply(told -> true));
    }
}
