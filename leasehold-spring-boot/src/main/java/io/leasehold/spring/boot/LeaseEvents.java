package io.leasehold.spring.boot;

import io.leasehold.LockListener;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.core.task.SimpleAsyncTaskExecutor;

/**
 * Publishes what an application should hear of as application events: {@link LockListener.Lost}, {@link LockListener.AtRisk} and {@link
 * LockListener.Abandoned}, on a thread of their own each, since their listeners may block. They are rare.
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
