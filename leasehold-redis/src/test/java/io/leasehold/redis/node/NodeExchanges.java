package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.node.Ballot;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.redis.topology.ScriptedRedis;
import io.leasehold.redis.topology.Topologies;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.StoreUri;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A node over a scripted server, which records the scripts that it receives. */
abstract class NodeExchanges {

    static final LockName NAME = LockName.of("x");
    static final LockName OTHER = LockName.of("y");
    static final String LOCK = KeyLayout.standard().lock(NAME);
    static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(600);
    static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    static final String TRY_AGAIN = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";

    final WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
    final Map<String, Function<List<String>, String>> scripts = new ConcurrentHashMap<>();
    final Map<String, List<List<String>>> ran = new ConcurrentHashMap<>();
    final OwnerToken owner = OwnerToken.draw(runtime);
    ScriptedRedis server;
    Deployment where;
    Topology topology;

    @BeforeEach
    void start() throws Exception {
        server = new ScriptedRedis();
        server.says("EVALSHA", command -> {
            ran.computeIfAbsent(command.get(1), sha -> new CopyOnWriteArrayList<>())
                    .add(command.subList(3, command.size()));
            return scripts.get(command.get(1)).apply(command);
        });
        // The common case does not apply unless a test requires it.
        scripts.put(LuaScript.ACQUIRE_FREE.sha1(), command -> ":0\r\n");
        scripts.put(LuaScript.RELEASE_HELD.sha1(), command -> ":0\r\n");
        // A joint script executes none of its calls unless a test requires it.
        scripts.put(LuaScript.ACQUIRE_MANY.sha1(), command -> declined(bulk("1") + bulk("1"), 2, command, 3));
        scripts.put(LuaScript.RELEASE_MANY.sha1(), command -> declined(bulk("released"), 1, command, 2));
        // The marker comes before the keys of the calls.
        scripts.put(LuaScript.MEMBER_ACQUIRE_MANY.sha1(), command -> declined(bulk("1") + bulk("1"), 2, command, 3));
        scripts.put(LuaScript.MEMBER_RELEASE_MANY.sha1(), command -> declined(bulk("released"), 1, command, 3));
        where = Deployment.parse(StoreUri.parse("redis://" + server.address()));
        topology = Topologies.of(where, LettuceDriver.of(where, new DriverThreads()), where.errors(), runtime);
        answer(topology.open());
    }

    @AfterEach
    void close() throws Exception {
        topology.close();
        runtime.close();
        server.close();
    }

    private static String bulk(String text) {
        return "$" + text.length() + "\r\n" + text + "\r\n";
    }

    private static String declined(String head, int heads, List<String> command, int keysOfEach) {
        int calls = Integer.parseInt(command.get(2)) / keysOfEach;
        return "*" + (heads + calls) + "\r\n" + head + ":0\r\n".repeat(calls);
    }

    static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(ScriptedRedis.LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    void says(LuaScript script, String answer) {
        scripts.put(script.sha1(), command -> answer);
    }

    /** The keys and arguments of each run. */
    List<List<String>> ran(LuaScript script) {
        return ran.getOrDefault(script.sha1(), List.of());
    }

    List<String> last(LuaScript script) {
        return ran(script).get(ran(script).size() - 1);
    }

    NodeSettings settings(boolean member) {
        return member
                ? NodeSettings.ofMember(RedisGuarantees.single(false))
                : NodeSettings.standard(RedisGuarantees.single(false));
    }

    RedisNode node() {
        return node(settings(false));
    }

    RedisNode node(NodeSettings settings) {
        return new RedisNode("the node", settings, topology, where.errors(), runtime);
    }

    AcquireRequest request(LockName... names) {
        return AcquireRequest.exclusive(List.of(names), owner, "host/1/x", TimeUnit.SECONDS.toNanos(30), LIMIT_NANOS);
    }

    Ballot ballot(LockName... names) {
        return new Ballot(request(names), 5_000, 3);
    }

    Incarnation life() {
        return new Incarnation("life" + server.port());
    }

    ReleaseReply release(RedisNode node, LockName... names) throws Exception {
        return answer(
                node.release(new ReleaseRequest(List.of(names), owner, 77, ReleaseRequest.Kind.RELEASE, LIMIT_NANOS)));
    }

    RenewBatch renewals(int count) {
        return new RenewBatch(
                IntStream.range(0, count)
                        .mapToObj(i -> new RenewBatch.Item(LockName.of("n" + i), owner, 9_000_000_001L))
                        .toList(),
                LIMIT_NANOS);
    }

    EfficiencyStore plain() {
        return new EfficiencyStore("the store", KeyLayout.standard(), topology, where.errors(), runtime);
    }
}
