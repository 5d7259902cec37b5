package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.QueuePlace;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The events that wake a waiter, their nodes, and how often they do. */
@Tag("quick")
class AwaitedNodeTest {

    private final CompletableFuture<Watcher> events = new CompletableFuture<>();
    private final Session session = Session.open(
            ZooKeeperUri.parse(StoreUri.parse("zk://ensemble.test/locks")),
            VirtualRuntime.seeded(1),
            30_000,
            (timeout, watcher) -> {
                events.complete(watcher);
                return (SessionCalls) Proxy.newProxyInstance(
                        getClass().getClassLoader(),
                        new Class<?>[] {SessionCalls.class},
                        (proxy, method, arguments) -> {
                            throw new AssertionError(method);
                        });
            },
            new Session.Listener() {
                @Override
                public void suspended(Session of) {}

                @Override
                public void resumed(Session of) {}

                @Override
                public void ended(Session of) {}
            });
    private final QueuePlace<String> place = new QueuePlace<>(LockName.exactly("x"), "zk://ensemble.test/locks");
    private final AtomicInteger woken = new AtomicInteger();
    private final AwaitedNode node = new AwaitedNode(place, event -> woken.incrementAndGet());

    private void deleted(String path) {
        events.join()
                .process(new WatchedEvent(
                        Watcher.Event.EventType.NodeDeleted, Watcher.Event.KeeperState.SyncConnected, path));
    }

    @Test
    void theEndOfTheNodeBeforeWakesOnce() {
        assertThat(place.isAwaiting()).isFalse();
        node.await(session, "/a");
        assertThat(place.isAwaiting()).isTrue();
        deleted("/b");
        assertThat(woken).hasValue(0);
        deleted("/a");
        assertThat(woken).hasValue(1);
        assertThat(place.isAwaiting()).as("it asks, and awaits another").isFalse();
        deleted("/a");
        assertThat(woken).hasValue(1);
    }

    /**
     * A waiter that has asked again stands behind another node. The removal of the former one no longer concerns it.
     */
    @Test
    void onlyTheLastNodeIsAwaited() {
        node.await(session, "/a");
        node.await(session, "/b");
        deleted("/a");
        assertThat(woken).hasValue(0);
        assertThat(place.isAwaiting()).isTrue();
        deleted("/b");
        assertThat(woken).hasValue(1);
    }

    @Test
    void whoAwaitsNothingIsNotWokenAndMayAwaitAgain() {
        node.forget(session);
        node.await(session, "/a");
        node.forget(session);
        assertThat(place.isAwaiting()).isFalse();
        deleted("/a");
        assertThat(woken).hasValue(0);
        node.await(session, "/a");
        deleted("/a");
        assertThat(woken).hasValue(1);
    }

    /** An attempt that was given up while it waited has left, and no event must make it ask again. */
    @Test
    void anAttemptThatHasEndedIsNotWoken() {
        node.await(session, "/a");
        place.end();
        deleted("/a");
        assertThat(woken).hasValue(0);
    }
}
