package example.orders;

import io.leasehold.jdbc.SqlFencingGuard;
import io.leasehold.spring.FencingToken;
import io.leasehold.spring.Locked;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Reads an order and writes it back: without the lock, two instances would overwrite each other's items. */
@Service
public class Orders {

    private static final SqlFencingGuard ROWS = SqlFencingGuard.of("orders", "id", "fencing_token");

    private final JdbcTemplate jdbc;

    public Orders(JdbcTemplate jdbc) {
        this.jdbc = jdbc;
    }

    /**
     * The lock is acquired before the transaction begins and released after its commit. The token in the row refuses an
     * instance that was paused beyond its lease, also between the last check and the commit.
     *
     * @param token filled by the lock; callers pass 0
     * @return the number of items in the order
     */
    @Locked(name = "order:{}", key = "#id", maxWait = "10s")
    @Transactional
    public int addItem(long id, @FencingToken long token) {
        jdbc.update("insert into orders (id, items) values (?, 0) on conflict do nothing", id);
        jdbc.execute((ConnectionCallback<?>) connection -> {
            ROWS.admit(connection, id, token).orElseThrow();
            return null;
        });
        Integer items = jdbc.queryForObject("select items from orders where id = ?", Integer.class, id);
        int more = (items == null ? 0 : items) + 1;
        jdbc.update("update orders set items = ? where id = ?", more, id);
        return more;
    }
}
