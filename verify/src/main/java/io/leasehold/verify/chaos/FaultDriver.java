package io.leasehold.verify.chaos;

import io.leasehold.simulator.proxy.Connections;
import io.leasehold.simulator.proxy.Direction;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.simulator.proxy.Traffic;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Injects faults at random: a seed determines kind, target and time. Every fault ends after a while, and counts only if
 * it had an effect. For one thread.
 */
final class FaultDriver {

    private static final int[] OPAQUE_KINDS = {0, 1, 2, 3, 4, 5, 6, 10, 11, 11, 12, 12, 13, 14, 14};
    private static final long MIN_SILENCE_MILLIS = 3_000;

    private final List<ClientSlot> clients;
    private final @Nullable ServerGroup servers;
    private final Set<FaultGroup> allowed;
    private final Duration ttl;
    private final SplittableRandom random;
    private final FaultCounts counts;
    private final PriorityQueue<Ending> endings = new PriorityQueue<>((a, b) -> Long.compare(a.atNanos - b.atNanos, 0));
    private final List<TcpProxy> suffering = new ArrayList<>();
    private final Set<ServerUnderTest> sufferingServers = new HashSet<>();

    FaultDriver(
            List<ClientSlot> clients,
            @Nullable ServerGroup servers,
            Set<FaultGroup> allowed,
            Duration ttl,
            SplittableRandom random,
            FaultCounts counts) {
        this.clients = clients;
        this.servers = servers;
        this.allowed = allowed;
        this.ttl = ttl;
        this.random = random;
        this.counts = counts;
    }

    private interface Step {
        void run() throws InterruptedException;
    }

    private record Ending(long atNanos, Step step) {}

    /**
     * Injects faults for this time, and longer, at most for {@code further}, until the run has shown something. Then it
     * heals everything.
     *
     * @return the time for which it injected faults
     */
    Duration run(Duration duration, Duration further, BooleanSupplier shown) throws InterruptedException {
        long start = System.nanoTime();
        long most = duration.plus(further).toNanos();
        while (true) {
            long ran = System.nanoTime() - start;
            if (ran >= most || (ran >= duration.toNanos() && shown.getAsBoolean())) {
                healEverything();
                return Duration.ofNanos(ran);
            }
            inflict();
            waitAndEnd(150 + random.nextLong(450));
            clients.forEach(ClientSlot::requireAlive);
        }
    }

    private void waitAndEnd(long millis) throws InterruptedException {
        long until = System.nanoTime() + millis * 1_000_000;
        while (true) {
            Ending next = endings.peek();
            long wake = next == null || next.atNanos - until > 0 ? until : next.atNanos;
            long left = wake - System.nanoTime();
            if (left > 0) {
                TimeUnit.NANOSECONDS.sleep(left);
            } else if (next != null && wake == next.atNanos) {
                endings.remove();
                next.step.run();
            } else {
                return;
            }
        }
    }

    private void after(long millis, Step step) {
        endings.add(new Ending(System.nanoTime() + millis * 1_000_000, step));
    }

    private void inflict() throws InterruptedException {
        ClientSlot client = clients.get(random.nextInt(clients.size()));
        List<TcpProxy> proxies = client.proxies();
        int draw = random.nextInt(100);
        FaultGroup group = group(draw, !proxies.isEmpty());
        if (!allowed.contains(group)) {
            return;
        }
        switch (group) {
            case CLIENT -> harmProcess(client, draw % 35);
            case NETWORK -> {
                TcpProxy proxy = proxies.get(random.nextInt(proxies.size()));
                // If a proxy can distinguish requests, it loses single ones; otherwise it loses bytes or periods.
                boolean apart = servers != null && servers.speaksResp();
                harmConnection(proxy, apart ? (draw - 35) / 6 : OPAQUE_KINDS[random.nextInt(OPAQUE_KINDS.length)]);
            }
            case SERVER -> harmServer(draw % 2 == 0);
        }
    }

    /** If clients find their servers themselves, they have no network to be harmed, and servers have more faults. */
    private FaultGroup group(int draw, boolean overProxies) {
        boolean harmable = servers != null && !servers.members().isEmpty();
        if (draw >= 35 && overProxies) {
            return draw >= 94 && harmable ? FaultGroup.SERVER : FaultGroup.NETWORK;
        }
        return draw >= 80 && harmable ? FaultGroup.SERVER : FaultGroup.CLIENT;
    }

    private void harmProcess(ClientSlot client, int draw) throws InterruptedException {
        if (draw < 12) {
            client.killAndRestart();
            counts.saw("kill");
        } else if (!client.isFrozen()) {
            boolean beyondTtl = draw < 26;
            long ttlMillis = ttl.toMillis();
            client.freeze();
            counts.saw(beyondTtl ? "stop beyond ttl" : "stop");
            after(
                    beyondTtl ? ttlMillis + 200 + random.nextLong(ttlMillis * 2) : 20 + random.nextLong(ttlMillis / 2),
                    client::thaw);
        }
    }

    private void harmConnection(TcpProxy proxy, int kind) {
        if (suffering.contains(proxy)) {
            return;
        }
        long briefly = 200 + random.nextLong(ttl.toMillis() + 1_000);
        switch (kind) {
            case 0 -> {
                proxy.delay(Duration.ofMillis(2 + random.nextLong(80)));
                healAfter(proxy, briefly * 2);
            }
            case 1 -> {
                proxy.stall();
                healAfter(proxy, briefly);
            }
            case 2 -> {
                proxy.drop();
                healAfter(proxy, briefly);
            }
            case 3 -> {
                proxy.toClient().drop();
                healAfter(proxy, briefly);
            }
            case 4 -> {
                proxy.halfOpenForClients();
                healAfter(proxy, briefly);
            }
            case 5 -> proxy.resetAll();
            case 6 -> {
                proxy.refuseConnections();
                proxy.resetAll();
                healAfter(proxy, briefly);
            }
            case 7 -> proxy.loseNextRequest(FaultDriver::isScript);
            case 8 -> {
                proxy.silenceFromNextReplyTo(FaultDriver::isScript);
                healAfter(proxy, briefly);
            }
            case 9 -> proxy.loseNextReplyTo(FaultDriver::isScript);
            case 10 -> {
                proxy.toServer().drop();
                healAfter(proxy, briefly);
            }
            case 11 -> resetAfterLosses("reset before a request", proxy, proxy.toServer());
            case 12 -> resetAfterLosses("reset before a reply", proxy, proxy.toClient());
            case 13 -> {
                (random.nextBoolean() ? proxy.toServer() : proxy.toClient()).resetAfter(1 + random.nextLong(3_000));
                healAfter(proxy, briefly);
            }
            default -> {
                silence(proxy);
                healAfter(proxy, MIN_SILENCE_MILLIS + random.nextLong(MIN_SILENCE_MILLIS * 2));
            }
        }
    }

    /**
     * Loses the messages of a moment, and resets the connections that lost one; the other connections notice nothing.
     */
    private void resetAfterLosses(String what, TcpProxy proxy, Direction direction) {
        long before = direction.traffic().dropped();
        direction.drop();
        suffering.add(proxy);
        after(5 + random.nextLong(150), () -> {
            counts.saw(what, direction.traffic().dropped() > before ? 1 : 0);
            proxy.heal();
            suffering.remove(proxy);
        });
    }

    /** Longer than a client waits for a reply, and without an error: in one direction, the other, or both. */
    private void silence(TcpProxy proxy) {
        switch (random.nextInt(4)) {
            case 0 -> proxy.drop();
            case 1 -> proxy.toServer().drop();
            case 2 -> proxy.toClient().drop();
            default -> proxy.stall();
        }
    }

    /** Acquire, renewal and release are scripts; the loss of one of them matters. */
    private static boolean isScript(String request) {
        return request.contains("EVAL") || request.contains("SET");
    }

    private void healAfter(TcpProxy proxy, long millis) {
        suffering.add(proxy);
        after(millis, () -> {
            proxy.heal();
            suffering.remove(proxy);
        });
    }

    private void harmServer(boolean kill) throws InterruptedException {
        ServerGroup group = Objects.requireNonNull(servers, "servers");
        List<ServerUnderTest> members = group.members();
        ServerUnderTest target = members.get(random.nextInt(members.size()));
        // A fail-over needs a replica.
        boolean others = !group.ports().isEmpty() || sufferingServers.isEmpty();
        if (!others || !sufferingServers.add(target)) {
            return;
        }
        if (kill) {
            target.kill();
            counts.saw("server kill");
            after(100 + random.nextLong(1_500), () -> {
                target.restart();
                sufferingServers.remove(target);
            });
        } else {
            target.freeze();
            counts.saw("server stop");
            after(100 + random.nextLong(ttl.toMillis() * 2), () -> {
                target.thaw();
                sufferingServers.remove(target);
            });
        }
    }

    private void healEverything() throws InterruptedException {
        while (!endings.isEmpty()) {
            endings.remove().step.run();
        }
        for (ClientSlot client : clients) {
            client.thaw();
            for (TcpProxy proxy : client.proxies()) {
                proxy.heal();
                countWhatHappened(proxy);
            }
        }
    }

    private void countWhatHappened(TcpProxy proxy) {
        Connections connections = proxy.connections();
        counts.saw("reset", connections.reset());
        counts.saw("half open", connections.halfOpened());
        counts.saw("refused or unreachable", connections.unreachable());
        counts.saw("lost request", connections.requestsLost());
        counts.saw("lost reply", connections.repliesLost());
        for (Traffic traffic :
                List.of(proxy.toServer().traffic(), proxy.toClient().traffic())) {
            counts.saw("delayed KB", (traffic.delayed() + 1023) / 1024);
            counts.saw("stalled KB", (traffic.stalled() + 1023) / 1024);
            counts.saw("dropped KB", (traffic.dropped() + 1023) / 1024);
        }
    }
}
