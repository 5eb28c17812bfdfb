-- The list of new entries of the metadata index may have 8 MB (about 25,000 endpoints) before an insert must merge it. Usually the directory
-- merges the list in the background, so that a burst of registrations does not wait for it. A search reads the list as well, which takes
-- 0.25 ms for each thousand endpoints.
alter index register.endpoints_metadata set (gin_pending_list_limit = 8192);
