package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.leasehold.LockClient;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/**
 * Tests of scoped values, which JDK 25 and newer have. Uses reflection, since this class is compiled for an older JDK.
 */
@Tag("quick")
class LockedOnNewJdkTest {

    @TempDir
    private Path scratch;

    private AnnotationConfigApplicationContext application;

    static class Orders {
        @Locked(name = "order", maxWait = "1m")
        public <T> T pay(Supplier<T> body) {
            return body.get();
        }

        @Locked(name = "other", maxWait = "1m")
        public long other() {
            return Locks.current().fencingToken();
        }
    }

    @BeforeEach
    void start() {
        assumeThat(Runtime.version().feature())
                .as("the JDK: run with -Dtest.jdk=/path/to/jdk-25")
                .isGreaterThanOrEqualTo(25);
        application = Application.of(MemoryLocks.class, Orders.class);
    }

    @AfterEach
    void close() {
        if (application != null) {
            application.close();
        }
    }

    /** The result of a task that a structured scope has forked. */
    private static Object forked(Callable<?> task) {
        try {
            Class<?> type = Class.forName("java.util.concurrent.StructuredTaskScope");
            Object scope = type.getMethod("open").invoke(null);
            try {
                Object subtask = type.getMethod("fork", Callable.class).invoke(scope, task);
                type.getMethod("join").invoke(scope);
                return Class.forName(type.getName() + "$Subtask")
                        .getMethod("get")
                        .invoke(subtask);
            } finally {
                type.getMethod("close").invoke(scope);
            }
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("StructuredTaskScope", e);
        }
    }

    @Test
    void forkedThreadsInheritTheLease() {
        Orders orders = application.getBean(Orders.class);
        orders.pay(() -> {
            long token = Locks.current().fencingToken();
            assertThat(forked(() -> Locks.current().fencingToken())).isEqualTo(token);
            assertThat(forked(() -> {
                        long other = orders.other();
                        return other != token && Locks.current().fencingToken() == token;
                    }))
                    .isEqualTo(true);
            return null;
        });
        assertThat(InheritedScope.current()).isNull();
    }

    @Test
    void noVirtualThreadIsPinned() throws Exception {
        Orders orders = application.getBean(Orders.class);
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Path file = scratch.resolve("pinned.jfr");
        // The first recording prepares the classes of events; other threads wait for that and block their carriers.
        try (Recording first = new Recording()) {
            first.start();
            orders.pay(() -> null);
        }
        try (Recording recording = new Recording()) {
            recording.enable("jdk.VirtualThreadPinned").withoutThreshold();
            recording.start();
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                threads.add((Thread) start.invoke(null, (Runnable) () -> {
                    for (int n = 0; n < 20; n++) {
                        orders.pay(() -> null);
                    }
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            recording.stop();
            recording.dump(file);
        }
        assertThat(RecordingFile.readAllEvents(file))
                .filteredOn(event -> event.getEventType().getName().equals("jdk.VirtualThreadPinned"))
                .extracting(RecordedEvent::toString)
                .noneMatch(event -> event.contains("io.leasehold"));
        assertThat(application.getBean(LockClient.class).admin().inspect("order"))
                .isEmpty();
    }
}
