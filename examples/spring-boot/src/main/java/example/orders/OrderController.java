package example.orders;

import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** {@code POST /orders/1/items}. */
@RestController
public class OrderController {

    private final Orders orders;

    public OrderController(Orders orders) {
        this.orders = orders;
    }

    @PostMapping("/orders/{id}/items")
    public int addItem(@PathVariable("id") long id) {
        return orders.addItem(id, 0);
    }
}
