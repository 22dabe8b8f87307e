CREATE TABLE orders (
    number TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    state TEXT NOT NULL,
    content TEXT NOT NULL
);
