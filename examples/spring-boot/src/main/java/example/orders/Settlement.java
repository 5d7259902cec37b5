package example.orders;

import io.leasehold.Lease;
import io.leasehold.spring.Locked;
import io.leasehold.spring.Locks;
import java.time.Duration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Runs on the schedule of each instance, but on one instance at a time: if the lock is busy, the run is skipped. */
@Component
public class Settlement {

    private final JdbcTemplate jdbc;
    private final String instance;
    private final Duration takes;

    public Settlement(
            JdbcTemplate jdbc,
            @Value("${settlement.instance}") String instance,
            @Value("${settlement.takes}") Duration takes) {
        this.jdbc = jdbc;
        this.instance = instance;
        this.takes = takes;
    }

    @Locked(name = "settlement")
    @Scheduled(fixedDelayString = "${settlement.pause}")
    public void settle() throws InterruptedException {
        Lease lease = Locks.current();
        jdbc.update(
                "insert into settlement (token, instance, began) values (?, ?, clock_timestamp())",
                lease.fencingToken(),
                instance);
        Thread.sleep(takes.toMillis());
        jdbc.update("update settlement set ended = clock_timestamp() where token = ?", lease.fencingToken());
    }
}
