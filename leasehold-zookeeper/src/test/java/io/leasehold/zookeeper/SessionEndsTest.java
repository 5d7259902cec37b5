package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.client.ZKClientConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A session ends once, and stays ended; an event of a node is reported once. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("full")
class SessionEndsTest {

    @TempDir
    private Path directory;

    private Member member;
    private TcpProxy proxy;

    @BeforeEach
    void start() {
        member = new Member(directory);
        proxy = TcpProxy.to(member.port());
    }

    @AfterEach
    void stop() {
        proxy.close();
        member.close();
    }

    private static class Heard implements Session.Listener {
        final List<String> events = new CopyOnWriteArrayList<>();

        @Override
        public void suspended(Session session) {
            events.add("suspended");
        }

        @Override
        public void resumed(Session session) {
            events.add("resumed");
        }

        @Override
        public void ended(Session session) {
            events.add("ended");
        }
    }

    private Session open(Session.Listener listener) {
        ZooKeeperUri uri =
                ZooKeeperUri.parse(StoreUri.parse("zk://127.0.0.1:" + proxy.port() + "/tests?tickTime=100ms"));
        return Session.open(uri, VirtualRuntime.seeded(1), 30_000, new Driver(uri, new ZKClientConfig()), listener);
    }

    private static boolean within(Duration span, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > span.toNanos()) {
                return false;
            }
            LockSupport.parkNanos(2_000_000);
        }
        return true;
    }

    /** Its connection is made at the moment at which it is closed. */
    @Test
    void aSessionThatHasEndedStaysEnded() {
        proxy.stall();
        List<Boolean> alive = new CopyOnWriteArrayList<>();
        Heard heard = new Heard() {
            @Override
            public void ended(Session session) {
                super.ended(session);
                if (events.size() == 1) {
                    proxy.resume();
                    within(Duration.ofSeconds(10), () -> member.sessions() == 1);
                    alive.add(within(Duration.ofSeconds(1), () -> !session.isEnded()));
                }
            }
        };
        Session session = open(heard);
        session.close(5_000);
        assertThat(alive).as("whether it was alive again").containsExactly(false);
        assertThat(session.isEnded()).isTrue();
        assertThat(session.isConnected()).isFalse();
        assertThatThrownBy(() -> session.connected().get(1, TimeUnit.SECONDS))
                .hasCauseInstanceOf(StoreUnavailableException.class);
        session.close(100);
        assertThat(heard.events).containsExactly("ended");
    }

    /** Its connection is lost at the moment at which it is closed. */
    @Test
    void aSessionThatHasEndedIsNotSuspended() throws Exception {
        List<Boolean> alive = new CopyOnWriteArrayList<>();
        Heard heard = new Heard() {
            @Override
            public void ended(Session session) {
                super.ended(session);
                proxy.refuseConnections().resetAll();
                alive.add(within(Duration.ofSeconds(1), () -> !session.isEnded()));
            }
        };
        Session session = open(heard);
        session.connected().get(30, TimeUnit.SECONDS);
        session.close(100);
        assertThat(alive).as("whether it was alive again").containsExactly(false);
        assertThat(heard.events).containsExactly("ended");
    }

    @Test
    void whatBecomesOfASessionIsToldOnce() throws Exception {
        Heard heard = new Heard();
        Session session = open(heard);
        assertThat(session.connected().get(30, TimeUnit.SECONDS)).isSameAs(session);
        assertThat(session.isConnected()).isTrue();
        proxy.resetAll();
        assertThat(within(Duration.ofSeconds(30), () -> heard.events.size() == 2))
                .isTrue();
        assertThat(session.isConnected()).isTrue();
        proxy.refuseConnections().resetAll();
        assertThat(within(Duration.ofSeconds(30), () -> heard.events.size() == 3))
                .isTrue();
        // A failed attempt to connect is no event.
        within(Duration.ofSeconds(3), () -> heard.events.size() > 3);
        assertThat(session.isConnected()).isFalse();
        session.close(100);
        assertThat(heard.events).containsExactly("suspended", "resumed", "suspended", "ended");
    }

    /** The first named member need not be up. */
    @Test
    void aSessionThatIsNotReachedAtOnceIsReachedLater() throws Exception {
        proxy.refuseConnections();
        Heard heard = new Heard();
        Session session = open(heard);
        within(Duration.ofSeconds(2), () -> session.connected().isDone());
        proxy.acceptConnections();
        assertThat(session.connected().get(30, TimeUnit.SECONDS)).isSameAs(session);
        assertThat(session.timeoutNanos()).isEqualTo(Duration.ofSeconds(30).toNanos());
        assertThat(heard.events).isEmpty();
        session.close(1_000);
    }

    /**
     * An ensemble may grant less than the requested timeout: then a third of the granted one, and a tick, are not sure.
     */
    @Test
    void whatIsSureFollowsFromWhatWasGranted() throws Exception {
        member.mostSession(9_000);
        Session session = open(new Heard());
        session.connected().get(30, TimeUnit.SECONDS);
        assertThat(session.timeoutNanos()).isEqualTo(Duration.ofSeconds(9).toNanos());
        long sureNanos = Duration.ofMillis(9_000 - 3_000 - 100).toNanos();
        assertThat(session.countedFromNanos(77, sureNanos)).isEqualTo(77);
        assertThat(session.countedFromNanos(77, sureNanos - 1)).isEqualTo(77);
        assertThat(session.countedFromNanos(77, sureNanos + 5)).isEqualTo(72);
        session.close(1_000);
    }

    /** It calls back unless it is forgotten; a client may request it again. */
    @Test
    void anEventCallsBackOnce() throws Exception {
        Session session = open(new Heard());
        session.connected().get(30, TimeUnit.SECONDS);
        session.ensurePersistent("/tests/deep/node").get(30, TimeUnit.SECONDS);
        AtomicInteger told = new AtomicInteger();
        AtomicInteger forgotten = new AtomicInteger();
        Consumer<Watcher.Event.EventType> dropped = event -> forgotten.incrementAndGet();
        session.onEvent("/tests/deep/node", event -> told.incrementAndGet());
        session.onEvent("/tests/deep/node", dropped);
        session.forget("/tests/deep/node", dropped);
        session.read("/tests/deep/node", true).get(30, TimeUnit.SECONDS);
        session.delete("/tests/deep/node").get(30, TimeUnit.SECONDS);
        assertThat(within(Duration.ofSeconds(30), () -> told.get() == 1)).isTrue();
        // No client requested the events of the node that is made in its place.
        session.create("/tests/deep/node", new byte[0], CreateMode.PERSISTENT).get(30, TimeUnit.SECONDS);
        session.read("/tests/deep/node", true).get(30, TimeUnit.SECONDS);
        session.delete("/tests/deep/node").get(30, TimeUnit.SECONDS);
        session.children("/tests/deep").get(30, TimeUnit.SECONDS);
        assertThat(told).hasValue(1);
        assertThat(forgotten).hasValue(0);
        session.close(1_000);
    }
}
