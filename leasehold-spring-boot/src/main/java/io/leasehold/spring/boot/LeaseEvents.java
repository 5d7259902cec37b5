package io.leasehold.spring.boot;

import io.leasehold.LockListener;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.core.task.SimpleAsyncTaskExecutor;

/**
 * Publishes application events: {@link LockListener.Lost}, {@link LockListener.AtRisk} and
 * {@link LockListener.Abandoned}. Each is published on its own thread, since listeners may block; these events are
 * rare.
 */
final class LeaseEvents implements LockListener {

    private final ApplicationEventPublisher publisher;
    private final SimpleAsyncTaskExecutor threads = new SimpleAsyncTaskExecutor("leasehold-event-");

    LeaseEvents(ApplicationEventPublisher publisher) {
        this.publisher = publisher;
        threads.setDaemon(true);
    }

    private void publish(Object event) {
        threads.execute(() -> publisher.publishEvent(event));
    }

    @Override
    public void lost(Lost event) {
        publish(event);
    }

    @Override
    public void atRisk(AtRisk event) {
        publish(event);
    }

    @Override
    public void abandoned(Abandoned event) {
        publish(event);
    }
}
