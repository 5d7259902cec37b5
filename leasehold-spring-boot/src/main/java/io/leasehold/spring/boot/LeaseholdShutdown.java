package io.leasehold.spring.boot;

import io.leasehold.LockClient;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.task.SimpleAsyncTaskExecutor;

/**
 * Closes the clients when the application stops: after the web server and the schedulers, which still use locks, and
 * before connections that a client may use. A client that the context does not own stays open.
 */
final class LeaseholdShutdown implements SmartLifecycle {

    /** Below the web server, which is at −2048 from the default, and above connection factories, which are at 0. */
    static final int PHASE = DEFAULT_PHASE - 4096;

    private final ConfigurableListableBeanFactory beans;
    private final Duration await;
    private volatile boolean running;
    private volatile boolean closed;

    LeaseholdShutdown(ConfigurableListableBeanFactory beans, Duration await) {
        this.beans = beans;
        this.await = await;
    }

    @Override
    public void start() {
        if (closed) {
            throw new IllegalStateException(
                    "the lock clients of this application context were closed when it stopped, and do"
                            + " not open again: create a new context instead of starting this one again");
        }
        running = true;
    }

    @Override
    public void stop() {
        running = false;
        closed = true;
        List<LockClient> clients = Arrays.stream(beans.getBeanNamesForType(LockClient.class, false, false))
                .filter(beans::containsSingleton)
                .filter(this::isOwned)
                .map(name -> beans.getBean(name, LockClient.class))
                .toList();
        if (clients.size() == 1) {
            clients.get(0).close(await);
        } else {
            allAtOnce(clients);
        }
    }

    /** Whether the context closes it: not a registered object, or a bean whose life cycle is left to the application. */
    private boolean isOwned(String name) {
        return beans.containsBeanDefinition(name)
                && !"".equals(beans.getMergedBeanDefinition(name).getDestroyMethodName());
    }

    /**
     * Closes all clients concurrently. Each waits for its own holders: in sequence they would take many times the
     * configured duration.
     */
    private void allAtOnce(List<LockClient> clients) {
        SimpleAsyncTaskExecutor threads = new SimpleAsyncTaskExecutor("leasehold-shutdown-");
        CompletableFuture.allOf(clients.stream()
                        .map(client -> threads.submitCompletable(() -> client.close(await)))
                        .toArray(CompletableFuture[]::new))
                .join();
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    /** A context that is paused between tests (from Framework 7 on) resumes later, but a closed client cannot. */
    public boolean isPauseable() {
        return false;
    }
}
